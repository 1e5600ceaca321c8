// SPDX-License-Identifier: GPL-2.0
#include "bench/unit.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <map>

#include "bench/statistics.h"

namespace djprobe::loader {
namespace {

// The guest calibrates its clock, so that an instruction need not be a whole number of ns; but the
// error is the same for all.
constexpr double kTolerance = 0.001;

constexpr unsigned kRepeats = 7;
constexpr std::uint64_t kTurns[] = {10'000, 20'000, 40'000};

// Each returns the instructions per turn.
std::uint64_t additions(std::uint64_t turns) {
    std::uint64_t value = 0;
    asm volatile("1: add $3, %0\n dec %1\n jnz 1b" : "+r"(value), "+r"(turns) : : "cc");
    return 3;
}

std::uint64_t multiplications(std::uint64_t turns) {
    std::uint64_t value = 3;
    asm volatile("1: imul %0, %0\n imul %0, %0\n imul %0, %0\n dec %1\n jnz 1b"
                 : "+r"(value), "+r"(turns)
                 :
                 : "cc");
    return 5;
}

std::uint64_t divisions(std::uint64_t turns) {
    std::uint64_t low = 1;
    asm volatile("1: xor %%edx, %%edx\n or $1, %0\n div %0\n dec %1\n jnz 1b"
                 : "+a"(low), "+r"(turns)
                 :
                 : "rdx", "cc");
    return 5;
}

}  // namespace

double now_ns() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

std::vector<LoopSample> time_loops() {
    constexpr std::uint64_t (*kLoops[])(std::uint64_t) = {additions, multiplications, divisions};
    std::vector<LoopSample> samples;
    for (unsigned repeat = 0; repeat < kRepeats; ++repeat) {
        for (unsigned loop = 0; loop < std::size(kLoops); ++loop) {
            for (const std::uint64_t turns : kTurns) {
                const double start = now_ns();
                const std::uint64_t per_turn = kLoops[loop](turns);
                samples.push_back({loop, turns * per_turn, now_ns() - start});
            }
        }
    }
    return samples;
}

Unit detect_unit(std::span<const LoopSample> samples) {
    std::map<unsigned, std::map<std::uint64_t, double>> fastest;
    for (const LoopSample& sample : samples) {
        const auto [at, is_new] = fastest[sample.loop].try_emplace(sample.instructions, sample.ns);
        if (!is_new) at->second = std::min(at->second, sample.ns);
    }
    std::vector<double> slopes;
    for (const auto& [loop, by_length] : fastest) {
        if (by_length.size() < 2) return {};
        for (auto at = std::next(by_length.begin()); at != by_length.end(); ++at) {
            const auto before = std::prev(at);
            slopes.push_back((at->second - before->second) /
                             static_cast<double>(at->first - before->first));
        }
    }
    if (fastest.size() < 2) return {};
    const auto [least, most] = std::ranges::minmax(slopes);
    if (least <= 0 || most - least > kTolerance * most) return {};
    return {true, median(slopes)};
}

}  // namespace djprobe::loader
