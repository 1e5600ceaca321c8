// SPDX-License-Identifier: GPL-2.0
// One member of a record, as text and as JSON.
#pragma once

#include <bpf/btf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "decode/formatter.h"
#include "kernel/symbolizer.h"
#include "trace/field.h"

namespace djprobe::loader {

class Cell {
  public:
    /// Of the record's type; throws Error(kBadFile) where that has no such member.
    Cell(const btf& types, std::uint32_t record_type, const Field& field, Symbolizer& symbolizer);

    [[nodiscard]] bool is_number() const { return is_number_; }
    [[nodiscard]] bool is_stack() const { return shape_ == Shape::kStack; }
    [[nodiscard]] bool is_pointer() const { return is_pointer_; }
    /// Letters that a string has at most; 0: it is none.
    [[nodiscard]] std::size_t letters() const { return is_string_ ? size_ : 0; }
    [[nodiscard]] bool is_stack_id() const { return shape_ == Shape::kStackId; }
    /// Of up to 8 bytes.
    [[nodiscard]] std::uint64_t number(std::span<const std::byte> record) const;
    std::string text(std::span<const std::byte> record);
    std::string json(std::span<const std::byte> record);
    /// The names of a stack's frames, innermost first.
    std::vector<std::string> frames(std::span<const std::byte> record);

  private:
    [[nodiscard]] std::span<const std::byte> bytes(std::span<const std::byte> record) const;
    std::string symbol(std::uint64_t address);
    std::string shaped(std::span<const std::byte> record);

    Shape shape_;
    std::uint32_t offset_ = 0;
    std::uint32_t size_ = 0;
    bool is_number_ = false;
    bool is_string_ = false;
    bool is_pointer_ = false;
    Formatter text_, json_;
    Symbolizer& symbolizer_;
};

}  // namespace djprobe::loader
