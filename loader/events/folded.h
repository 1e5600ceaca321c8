// SPDX-License-Identifier: GPL-2.0
// Stacks added up, as flame graphs want them: "comm;outermost;...;innermost COUNT".
#pragma once

#include <bpf/libbpf.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/output.h"
#include "decode/frame.h"
#include "decode/stack_fields.h"

namespace djprobe::loader {

/// A frame, whatever tasks and functions are called: a semicolon would end it.
std::string folded_name(std::string_view name);

class FoldedStacks {
  public:
    FoldedStacks(const bpf_object* object, FrameNames& names) : object_(object), names_(names) {}

    /// A record of this type counts one, by the stacks in it.
    void add(const StackFields& fields, std::span<const std::byte> record);
    /// What was added, and the hash maps that count by stacks now: those whose key holds stacks, or
    /// the numbers of some in a stack map. The value is the count, or has it as its first integer.
    [[nodiscard]] std::map<std::string, std::uint64_t> all() const;

  private:
    using Counts = std::map<std::string, std::uint64_t>;

    void add_map(const bpf_map* map, Counts& counts) const;
    [[nodiscard]] std::string line(const StackFields& fields,
                                   std::span<const std::byte> value) const;
    [[nodiscard]] std::vector<std::vector<Frame>> stacks_of(const StackFields& fields,
                                                            std::span<const std::byte> value) const;
    [[nodiscard]] std::vector<Frame> kept_stack(std::int64_t id) const;

    const bpf_object* object_;
    FrameNames& names_;
    Counts counts_;
};

void print_folded(const std::map<std::string, std::uint64_t>& stacks, Output& output);

}  // namespace djprobe::loader
