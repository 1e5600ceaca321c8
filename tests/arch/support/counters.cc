// SPDX-License-Identifier: GPL-2.0
#include "support/counters.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "support/direct.h"

namespace djprobe::test {
namespace {

constexpr size_t kBytes = kListCounters * sizeof(u64);
constexpr size_t kLists = 3;

/// Around this distance from %gs, where nothing else is.
u64* map_counters(i64 distance) {
    constexpr size_t kPages = 2 * 4096;
    const u64 wanted = (reinterpret_cast<u64>(&DirectBench::per_cpu()) + distance - 4096) & ~4095ul;
    void* const at = mmap(reinterpret_cast<void*>(wanted), kPages, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error(std::strerror(errno));
    return reinterpret_cast<u64*>(reinterpret_cast<u64>(&DirectBench::per_cpu()) + distance);
}

}  // namespace

u64* counters_at(Reach reach) {
    // The last reachable byte is at 0x7fffffff: half of the counters are, and of a histogram.
    constexpr i64 kEdge = 0x8000'0000 - static_cast<i64>(kBytes) / 2;
    static u64 near[kListCounters];
    static u64* const far = map_counters(0x1'2340'0000);
    static u64* const edge = map_counters(kEdge);
    return reach == Reach::Near ? near : reach == Reach::Far ? far : edge;
}

u64* more_counters_at(Reach reach, size_t list) {
    static u64 near[kLists][kListCounters];
    static u64* const far = map_counters(0x1'2350'0000);
    static u64* const farther = map_counters(0x1'2360'0000);
    if (reach == Reach::Near) return near[list % kLists];
    return list % 2 ? far : farther;
}

}  // namespace djprobe::test
