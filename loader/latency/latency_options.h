// SPDX-License-Identifier: GPL-2.0
// Between which places, and how.
#pragma once

#include <optional>
#include <string>

#include "count/watch.h"
#include "djprobe.h"
#include "kernel/place.h"
#include "kernel/return_mode.h"
#include "latency/table.h"
#include "session/options.h"

namespace djprobe::loader {

struct LatencyOptions : WatchOptions {
    Place from, to;
    LatencyStyle style;
    djprobe_mode mode = DJPROBE_MODE_AUTO;
    std::optional<ReturnMode> return_mode;
    Backend backend = Backend::kAuto;
};

/// An end of it: "vfs_read", "vfs_read:return", "vfs_read+0x2b", "0xffffffff81000000". Throws
/// Error(kUsage).
Place parse_latency_end(const std::string& text);
/// "cpu" or "comm". Throws Error(kUsage).
LatencyBy parse_latency_by(const std::string& text);

}  // namespace djprobe::loader
