// SPDX-License-Identifier: GPL-2.0
// What it costs to attach many probes and to take them out again: ours in one request, the kernel's
// optimized kprobes one by one, as it wants them, at the same sites.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/unit.h"

namespace djprobe::loader {

/// The costs of one mechanism in one round, in nanoseconds.
struct AttachRound {
    double attach = 0;   ///< until the last call came back
    double in_text = 0;  ///< until the last jump was in the text
    double detach = 0;   ///< until the last call came back
    double out = 0;      ///< until the text was as before
    double work = 0;     ///< of all that, what CPUs were busy
};

struct AttachReport {
    std::string kernel;
    Unit unit;
    std::size_t probes = 0;
    std::vector<AttachRound> ours, kernels;
};

struct AttachBenchOptions {
    std::size_t probes;
    unsigned rounds;
};

/// Throws Error when it is interrupted, where the module or /proc/kcore is missing, and when a
/// mechanism does not get its jumps into the text.
AttachReport run_attach_bench(const AttachBenchOptions& options);

/// Lines for people; NDJSON.
std::string attach_table(const AttachReport& report);
std::string attach_json(const AttachReport& report);

}  // namespace djprobe::loader
