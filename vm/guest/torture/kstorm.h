// SPDX-License-Identifier: GPL-2.0
// What the processes of a kstorm share.
#pragma once

#include <atomic>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../probes/harness/function_text.h"
#include "../probes/harness/probe.h"

namespace djprobe::vm {

/// In memory that all processes share.
struct KstormTotals {
    std::atomic<bool> stop;
    std::atomic<size_t> meeting;  ///< the house in which ours and theirs mostly are
    std::atomic<uint64_t> calls;  ///< of getpgid, by the load
    std::atomic<uint64_t> wrong;  ///< results that differ from an unprobed run's
    /// What the kernel's kprobes decided and would not have without us.
    std::atomic<uint64_t> misled;
    std::atomic<uint64_t> attached, all_sites, returns, shadows, refused, detached, toggled, kills;
    std::atomic<uint64_t> kprobes, kprobes_refused, kprobes_busy, enabled, removed, optimized;
};

/// A function as it was before the storm.
struct KstormHouse {
    FunctionText text;
    std::vector<djprobe_site> sites;   ///< all that the module takes
    std::vector<djprobe_site> hiding;  ///< those that take a branch away which forbids a jump
};

struct KstormTown {
    std::vector<KstormHouse> houses;
    size_t meetings = 0;            ///< so many, the first ones, have hiding sites
    std::set<uint64_t> never_jump;  ///< a branch leads behind their first byte

    /// Mostly the one in which ours and theirs meet now.
    const KstormHouse& any(std::mt19937_64& dice, const KstormTotals& totals) const {
        return houses[dice() % 4 ? totals.meeting % meetings : dice() % houses.size()];
    }
};

/// One line for the console, there before the call returns: a panic leaves the last ones behind.
void announce(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// Attaches and detaches our probes until it is told to stop or killed.
void our_part(const KstormTown& town, KstormTotals& totals, const Device& device, int program,
              uint64_t seed);
/// The same with kprobes of the kernel's own.
void their_part(const KstormTown& town, KstormTotals& totals, uint64_t seed);

}  // namespace djprobe::vm
