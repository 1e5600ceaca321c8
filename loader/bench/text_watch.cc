// SPDX-License-Identifier: GPL-2.0
#include "bench/text_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>

namespace djprobe::loader {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

std::string Patch::str() const {
    switch (opcode) {
        case kOpInt3:
            return fmt::format("int3 +{:#x}", offset);
        case kOpJump:
        case kOpShortJump:
            return fmt::format("jmp +{:#x}", offset);
        case kOpCall:
            return fmt::format("call +{:#x}", offset);
        default:
            return fmt::format("{:02x} +{:#x}", opcode, offset);
    }
}

std::optional<Patch> first_patch(const std::vector<std::uint8_t>& original,
                                 const std::vector<std::uint8_t>& now) {
    const auto [was, is] = std::ranges::mismatch(original, now);
    if (was == original.end()) return std::nullopt;
    return Patch{static_cast<std::uint64_t>(was - original.begin()), *is};
}

TextWatch::TextWatch(const Kcore& text, std::uint64_t address, std::size_t size)
    : text_(text), address_(address), original_(text.read(address, size)) {}

std::optional<Patch> TextWatch::patch() const {
    return first_patch(original_, text_.read(address_, original_.size()));
}

std::optional<Patch> TextWatch::wait(const std::function<bool(std::optional<Patch>)>& wanted,
                                     Duration limit) const {
    const auto end = Clock::now() + limit;
    for (;;) {
        const std::optional<Patch> now = patch();
        if (wanted(now) || Clock::now() >= end) return now;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace djprobe::loader
