// SPDX-License-Identifier: GPL-2.0
// Who carries the probes: djprobe, or the kernel's own mechanisms.
#pragma once

#include <cstdint>
#include <optional>

#include "kernel/device.h"
#include "session/options.h"

namespace djprobe::loader {

/// None: the kernel's own probes are to serve. Throws Error as Device::open() does, where they are
/// not wanted or do not serve: they have no session. kUsage where that is asked for.
std::optional<Device> open_device(Backend backend, bool session);
/// Where the kernel shows what it has.
struct Shown {
    const char* module = "/sys/module/djprobe";
    const char* event_sources = "/sys/bus/event_source/devices";  ///< "kprobe" is one
};
/// Says that the kernel's own probes serve, unless they were asked for or the kernel has none; and
/// that the mode is not theirs, if it is not the default.
void note_no_module(Backend backend, djprobe_mode mode, const Shown& shown = {});
/// The kernel is built without probes of its own. Not where /sys does not tell.
bool has_no_kprobes(const Shown& shown = {});

/// Whether a place that djprobe refuses for this reason (enum djprobe_reason) is safe for a kprobe
/// of the kernel, which has other limits.
bool is_safe_for_kprobe(std::uint32_t reason);

}  // namespace djprobe::loader
