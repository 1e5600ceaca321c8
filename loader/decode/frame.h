// SPDX-License-Identifier: GPL-2.0
// The frames of a stack as BPF programs keep them, and who gives them names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace djprobe::loader {

enum class StackKind : std::uint8_t {
    kAddresses,
    kBuildIds,  ///< struct bpf_stack_build_id: of user code the file's build and an offset in it
};

struct Frame {
    std::uint64_t address = 0;
    std::string build_id{};    ///< its bytes; empty: the address counts
    std::uint64_t offset = 0;  ///< in the file
};

/// From the innermost on, up to where the stack ends.
std::vector<Frame> frames_in(StackKind kind, std::span<const std::byte> bytes);
/// Bytes of one.
std::size_t frame_size(StackKind kind);

class FrameNames {
  public:
    virtual ~FrameNames() = default;
    /// With offset, and module or file; `process` is 0 where it is not known.
    virtual std::string full(const Frame& frame, std::uint32_t process) = 0;
    /// The function alone, for stacks that are added up.
    virtual std::string function(const Frame& frame, std::uint32_t process) = 0;
};

}  // namespace djprobe::loader
