// SPDX-License-Identifier: GPL-2.0
// A control group, as programs know it.
#pragma once

#include <cstdint>
#include <string>

namespace djprobe::loader {

struct Cgroup {
    std::uint64_t id = 0;
    unsigned level = 0;  ///< of the root 0
};

/// A folder of the cgroup file system (version 2), by its whole path or below /sys/fs/cgroup.
/// Throws Error(kUsage).
Cgroup find_cgroup(const std::string& path);

}  // namespace djprobe::loader
