// SPDX-License-Identifier: GPL-2.0
// Where the comparison takes place, and what calls it there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/rig.h"
#include "bench/workload.h"
#include "kernel/site_spec.h"

namespace djprobe::loader {

struct BenchPlace {
    const Workload* workload;
    std::vector<BenchSite> sites;  ///< the entry, then the middle if there is one
};

/// Offset of a function's first instruction behind endbr64 and the ftrace nop: where a probe on the
/// entry goes. `code`: the function, unpatched.
std::uint64_t entry_offset(const std::vector<std::uint8_t>& code);

/// Offsets of the instructions from `offset` on, up to the first that never continues.
std::vector<std::uint64_t> boundaries(const std::vector<std::uint8_t>& code, std::uint64_t offset);

/// The default function, or the wanted one with the workload that enters it exactly once per call.
/// In the middle: the wanted offset, or the first instruction well behind the entry that each call
/// passes once, and at which our module and, if there is such a one, the kernel put a jump. Throws
/// Error.
BenchPlace choose_place(Rig& rig, const std::optional<SiteSpec>& wanted);

}  // namespace djprobe::loader
