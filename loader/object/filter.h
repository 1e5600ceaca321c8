// SPDX-License-Identifier: GPL-2.0
// Which tasks' hits reach the programs of an object, whatever the object is.
#pragma once

#include <linux/bpf.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace djprobe::loader {

/// A list that is empty lets all pass; of the others each must have the current task's.
struct HitFilter {
    std::vector<std::uint32_t> processes, tasks, users;
    std::vector<std::string> names;  ///< of up to 15 bytes
    std::size_t cgroups = 0;         ///< so many are in the map
    int cgroup_map = -1;
    std::vector<std::uint32_t> excluded;  ///< processes that never pass

    [[nodiscard]] bool lets_all_pass() const;
};

/// Instructions to stand in front of a program: they end it with 0, or go on with its context in R1
/// as it was. None for a filter that lets all pass.
std::vector<bpf_insn> filter_code(const HitFilter& filter);

/// The control groups of these folders, as a map that the filter's code asks. Throws Error(kUsage)
/// for what is no folder of a cgroup2, kNoPermission.
UniqueFd make_cgroup_map(const std::vector<std::string>& folders);

}  // namespace djprobe::loader
