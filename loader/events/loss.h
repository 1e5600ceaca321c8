// SPDX-License-Identifier: GPL-2.0
// How many events were lost: exactly, at most, or unknown; never nothing.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace djprobe::loader {

struct Loss {
    std::optional<std::uint64_t> exact;
    /// Without an exact number: hits without an event, if a program sends one event per hit.
    std::uint64_t at_most = 0;

    [[nodiscard]] std::string str() const;
};

/// The global variable in which a program counts them.
inline constexpr std::string_view kLossCounter = "lost";

/// The object's global variable of this name (unsigned, 4 or 8 bytes), which the program increments
/// when bpf_ringbuf_reserve() fails. Nothing without such a variable.
std::optional<std::uint64_t> counted_by_program(const bpf_object* object);

}  // namespace djprobe::loader
