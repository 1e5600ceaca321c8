// SPDX-License-Identifier: GPL-2.0
// probeload latency: how long from one place to another?
#pragma once

#include <string>

#include "cli/app.h"
#include "kernel/place.h"
#include "latency/results.h"

namespace djprobe::loader {

Command add_latency(CLI::App& app);

/// "vfs_read", "vfs_read:return", "vfs_read+0x2b", "0xffffffff81000000". Throws Error(kUsage).
Place parse_latency_end(const std::string& text);
/// "cpu" or "comm". Throws Error(kUsage).
LatencyBy parse_latency_by(const std::string& text);

}  // namespace djprobe::loader
