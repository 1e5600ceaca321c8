// SPDX-License-Identifier: GPL-2.0
// The attributes of a bpf() call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "run/notifications.h"
#include "run/placement.h"
#include "run/tool_task.h"

namespace djprobe::loader {

/// None: they cannot be read, or are more than the kernel reads.
inline std::optional<std::vector<std::byte>> read_attributes(const Notification& call,
                                                             const ToolTask& task) {
    const auto size = static_cast<std::uint32_t>(call.argument(2));
    if (size > kMostAttributes) return std::nullopt;
    std::vector<std::byte> bytes(size);
    if (!task.read(call.argument(1), bytes.data(), size)) return std::nullopt;
    return bytes;
}

/// Their first ones, zero-filled, whatever follows.
template <class Struct>
Struct first_of(std::span<const std::byte> bytes) {
    Struct read = {};
    std::memcpy(&read, bytes.data(), std::min(bytes.size(), sizeof read));
    return read;
}
template <class Struct>
std::optional<Struct> read_first(const Notification& call, const ToolTask& task) {
    const auto bytes = read_attributes(call, task);
    if (!bytes) return std::nullopt;
    return first_of<Struct>(*bytes);
}

/// The same of a command that has no others: none where one of these is not 0, which is an error of
/// the caller's.
template <class Struct>
std::optional<Struct> read_all(const Notification& call, const ToolTask& task) {
    const auto bytes = read_attributes(call, task);
    const auto is_set = [](std::byte byte) { return byte != std::byte{}; };
    const auto known = std::min(bytes ? bytes->size() : 0, sizeof(Struct));
    if (!bytes || std::any_of(bytes->begin() + known, bytes->end(), is_set)) return std::nullopt;
    Struct read = {};
    std::memcpy(&read, bytes->data(), known);
    return read;
}

}  // namespace djprobe::loader
