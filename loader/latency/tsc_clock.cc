// SPDX-License-Identifier: GPL-2.0
#include "latency/tsc_clock.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "base/unique_fd.h"

namespace djprobe::loader {
namespace {

constexpr const char* kSource = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

std::string clock_source() {
    std::string name;
    std::ifstream(kSource) >> name;
    return name;
}

// An event that never counts: its page tells how the kernel turns ticks to time.
UniqueFd open_dummy() {
    perf_event_attr attr = {};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.exclude_kernel = 1;
    return UniqueFd(
        static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

// perf's shift is at most 32: a tick has at least so many bits of a nanosecond.
std::optional<std::uint64_t> rate_of(const volatile perf_event_mmap_page& page) {
    std::uint32_t lock = 0, multiplier = 0, shift = 0;
    bool is_clock = false;
    do {
        lock = page.lock;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        is_clock = page.cap_user_time != 0;
        multiplier = page.time_mult;
        shift = page.time_shift;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (page.lock != lock);
    if (!is_clock || multiplier == 0 || shift > 32) return std::nullopt;
    return std::uint64_t{multiplier} << (32 - shift);
}

std::optional<std::uint64_t> scheduler_rate() {
    const UniqueFd event = open_dummy();
    if (!event) return std::nullopt;
    const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const page = mmap(nullptr, size, PROT_READ, MAP_SHARED, event.get(), 0);
    if (page == MAP_FAILED) return std::nullopt;
    const auto rate = rate_of(*static_cast<const volatile perf_event_mmap_page*>(page));
    munmap(page, size);
    return rate;
}

std::int64_t nanoseconds(clockid_t clock) {
    timespec time = {};
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::optional<std::uint64_t> tsc_rate(std::string& why_not) {
    const std::string source = clock_source();
    why_not = fmt::format("the kernel's clock is {}, not the time stamp counter",
                          source.empty() ? "not known" : source);
    if (source != "tsc") return std::nullopt;
    why_not = "the kernel does not tell how fast the time stamp counter ticks";
    return scheduler_rate();
}

std::int64_t time_asleep() {
    return nanoseconds(CLOCK_BOOTTIME) - nanoseconds(CLOCK_MONOTONIC);
}

}  // namespace djprobe::loader
