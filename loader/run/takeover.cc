// SPDX-License-Identifier: GPL-2.0
// Which call is what; what the kernel gets.
#include "run/takeover.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <exception>

#include "base/say.h"
#include "decode/quote.h"

namespace djprobe::loader {

void Takeover::start_ahead() {
    if (!options_.to_kernel) head_start_.begin();
}

void Takeover::handle(const Notification& call) {
    held_.let_go(call.thread());
    call.answer(choose_answer(call));
}

Answer Takeover::choose_answer(const Notification& call) {
    try {
        // What has been closed before this call, the call must not meet.
        ledger_.forget_ended();
        const auto task = ToolTask::of(call.thread());
        return task ? dispatch(call, *task) : Answer::go_on();
    } catch (const std::exception& error) {
        // The tool is not to suffer from what we lack. Other calls place no probe.
        const bool places = call.number() == SYS_perf_event_open ||
                            (call.number() == SYS_bpf && call.argument(0) == BPF_LINK_CREATE);
        return places ? leave(call, printable(error.what())) : Answer::go_on();
    }
}

Answer Takeover::dispatch(const Notification& call, const ToolTask& task) {
    if (options_.to_kernel) return Answer::go_on();
    if (call.number() == SYS_perf_event_open) return open_event(call, task);
    if (call.number() == SYS_ioctl) return set_program(call, task);
    switch (static_cast<std::uint32_t>(call.argument(0))) {
        case BPF_LINK_CREATE:
            return create_link(call, task);
        case BPF_LINK_UPDATE:
            return update_link(call, task);
        case BPF_LINK_DETACH:
            return detach_link(call, task);
        case BPF_OBJ_PIN:
            return pin_link(call, task);
        default:
            return tell_link(call, task);
    }
}

bool Takeover::has_descriptors() const {
    // Two, and as many as a call takes at most while it is answered.
    constexpr std::size_t kWanted = 12;
    std::array<UniqueFd, kWanted> copies;
    for (UniqueFd& copy : copies)
        if (!(copy = UniqueFd(fcntl(ledger_.fd(), F_DUPFD_CLOEXEC, 0)))) return false;
    return true;
}

bool Takeover::forbids(const Notification& call, const std::string& reason) const {
    if (!options_.strict) return false;
    say("probeload: --strict: {}: the kernel would place a probe itself ({}): refused\n",
        printable_name(name_of_task(call.thread())), reason);
    return true;
}

Answer Takeover::leave(const Notification& call, const std::string& reason, std::size_t probes) {
    // Of a thread that has been killed nothing can be known, and nothing is placed.
    if (!call.is_valid()) return Answer::go_on();
    if (forbids(call, reason)) return Answer::fail(EACCES);
    ledger_.count_kernel(reason, probes);
    return Answer::go_on();
}

}  // namespace djprobe::loader
