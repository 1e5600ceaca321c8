// SPDX-License-Identifier: GPL-2.0
#include "session/site_memory.h"

#include <cstdint>

#include "base/error.h"
#include "base/memory_limit.h"

namespace djprobe::loader {
namespace {

// In the kernel, measured: 5 to 8 KiB with a program; with a counter and its code 0.3 KiB by a
// jump, and 0.75 KiB at int3, where all may have to stand.
constexpr std::uint64_t kBytesPerSite = 8192, kBytesPerCounter = 1024;

}  // namespace

// The kernel would look for memory among the processes, this one first.
void check_site_memory(const std::string& named, std::string_view things, std::size_t sites,
                       bool counters) {
    const std::uint64_t each = counters ? kBytesPerCounter : kBytesPerSite;
    const std::uint64_t fit = available_memory() / 4 * 3 / each;
    if (sites <= fit) return;
    fail(ExitCode::kFailure,
         "'{}': {} {} need about {} MiB of memory, which is short: {} fit: choose a narrower "
         "pattern",
         named, sites, things, sites * each >> 20, fit);
}

}  // namespace djprobe::loader
