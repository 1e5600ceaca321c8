// SPDX-License-Identifier: GPL-2.0
#include "session/backend.h"

#include <unistd.h>

#include <string>

#include "base/error.h"
#include "base/say.h"

namespace djprobe::loader {

std::optional<Device> open_device(Backend backend, bool session) {
    if (backend == Backend::kKernel && session)
        fail(ExitCode::kUsage,
             "--backend kernel: it has no probe that joins a call's entry with its return (a "
             "session): leave it out");
    if (backend == Backend::kKernel) return std::nullopt;
    try {
        return Device::open();
    } catch (const Error& error) {
        if (error.code() != ExitCode::kNotLoaded || backend != Backend::kAuto || session) throw;
        return std::nullopt;
    }
}

void note_no_module(Backend backend, djprobe_mode mode, const Shown& shown) {
    if (backend == Backend::kAuto && !has_no_kprobes(shown))
        say("probeload: {}: the kernel's own probes take its place\n",
            access(shown.module, F_OK) == 0 ? "djprobe is loaded, but not in this /dev"
                                            : "djprobe is not loaded");
    if (mode == DJPROBE_MODE_INT3)
        say("probeload: int3 only: that is djprobe's; for its own probes the kernel chooses "
            "between int3, jump and ftrace\n");
}

bool has_no_kprobes(const Shown& shown) {
    const std::string kprobe = std::string(shown.event_sources) + "/kprobe";
    return access(shown.event_sources, F_OK) == 0 && access(kprobe.c_str(), F_OK) != 0;
}

// The kernel single-steps or emulates a copy there, and takes its faults to the table; at the call
// of ftrace it goes by ftrace. All other reasons hold for its int3 as well as for ours.
bool is_safe_for_kprobe(std::uint32_t reason) {
    return reason == DJPROBE_REASON_FTRACE_SITE || reason == DJPROBE_REASON_EXTABLE_INSN;
}

}  // namespace djprobe::loader
