// SPDX-License-Identifier: GPL-2.0
// The comparison itself: every mechanism, program and site in each of several rounds.
#pragma once

#include <string>
#include <vector>

#include "bench/choose.h"
#include "bench/unit.h"

namespace djprobe::loader {

struct BenchCase {
    const MechanismInfo* mechanism;
    Body body;
    BenchSite site;
    std::string seen;
    std::string unavailable;       ///< why it was not measured; empty: it was
    std::vector<double> per_hit;   ///< in the unit: each block less the round's baseline
    std::vector<double> baseline;  ///< in the unit: per call without a probe, one for each round
};

struct BenchReport {
    std::string kernel;
    int cpu = 0;
    Unit unit;
    std::string workload;
    std::string function;
    unsigned rounds = 0;
    BlockPlan blocks{};
    std::vector<BenchCase> cases;
    std::vector<std::string> notices;
};

struct BenchOptions {
    std::optional<SiteSpec> site;
    std::vector<const MechanismInfo*> mechanisms;
    std::vector<Body> bodies;
    unsigned rounds = 5;
    std::uint64_t calls = 6400;  ///< per round and case
};

/// Throws Error when it is interrupted, or when it cannot be sure of what it measures.
BenchReport run_bench(const BenchOptions& options);

}  // namespace djprobe::loader
