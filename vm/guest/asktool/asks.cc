// SPDX-License-Identifier: GPL-2.0
#include "asks.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace djprobe::vm {

uint32_t kprobe_type() {
    static const uint32_t type = [] {
        uint32_t number = 0;
        std::ifstream("/sys/bus/event_source/devices/kprobe/type") >> number;
        return number;
    }();
    return type;
}

Fd open_event(const EventAsk& ask) {
    perf_event_attr attr = {};
    attr.size = sizeof attr;
    attr.type = kprobe_type();
    attr.config = ask.at_return;
    attr.config1 = reinterpret_cast<uintptr_t>(ask.symbol);
    attr.config2 = ask.place;
    return Fd(static_cast<int>(
        syscall(SYS_perf_event_open, &attr, -1, 0, -1, uint64_t{PERF_FLAG_FD_CLOEXEC})));
}

int set_program(const Fd& event, int program) {
    return ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program) ? errno : 0;
}

int bpf_call(int command, void* attributes, unsigned size) {
    const long value = syscall(SYS_bpf, command, attributes, size);
    return value < 0 ? -errno : static_cast<int>(value);
}

Fd link_event(const Fd& event, int program, uint64_t cookie) {
    bpf_attr attr = {};
    attr.link_create.prog_fd = static_cast<uint32_t>(program);
    attr.link_create.target_fd = static_cast<uint32_t>(event.get());
    attr.link_create.attach_type = BPF_PERF_EVENT;
    attr.link_create.perf_event.bpf_cookie = cookie;
    return Fd(static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof attr)));
}

namespace {

Fd link_functions(uint64_t symbols, uint64_t addresses, size_t count, int program, bool at_return,
                  const std::vector<uint64_t>& cookies) {
    bpf_attr attr = {};
    attr.link_create.prog_fd = static_cast<uint32_t>(program);
    attr.link_create.attach_type = BPF_TRACE_KPROBE_MULTI;
    auto& multi = attr.link_create.kprobe_multi;
    multi.flags = at_return ? BPF_F_KPROBE_MULTI_RETURN : 0;
    multi.cnt = static_cast<uint32_t>(count);
    multi.syms = symbols;
    multi.addrs = addresses;
    if (!cookies.empty()) multi.cookies = reinterpret_cast<uintptr_t>(cookies.data());
    return Fd(static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof attr)));
}

}  // namespace

Fd link_multi(const std::vector<const char*>& symbols, int program, bool at_return,
              const std::vector<uint64_t>& cookies) {
    return link_functions(reinterpret_cast<uintptr_t>(symbols.data()), 0, symbols.size(), program,
                          at_return, cookies);
}

Fd link_multi_at(const std::vector<uint64_t>& addresses, int program, bool at_return,
                 const std::vector<uint64_t>& cookies) {
    return link_functions(0, reinterpret_cast<uintptr_t>(addresses.data()), addresses.size(),
                          program, at_return, cookies);
}

}  // namespace djprobe::vm
