// SPDX-License-Identifier: GPL-2.0
// A BTF type compiled into a flat list of operations: BTF is walked once per type, never per event.
#pragma once

#include <bpf/btf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/format.h"

namespace djprobe::loader {

enum class OpKind : std::uint8_t {
    kLiteral,   ///< nothing but the literal
    kUnsigned,  ///< 1, 2, 4 or 8 bytes, or a bitfield
    kSigned,
    kBool,
    kEnum,     ///< by name; by number when no name fits
    kPointer,  ///< hexadecimal
    kFloat,    ///< 4 or 8 bytes
    kString,   ///< char array, up to its NUL
    kStack,    ///< addresses up to a zero, by name
    kBuildIdStack,
    kBytes,  ///< anything else (__int128, long double): hexadecimal, most significant byte first
    kArray,  ///< the next `body` operations for each of `count` elements
};

constexpr std::uint16_t kNoColumn = UINT16_MAX;
/// Count of an array that reaches to the end of the record (flexible array member).
constexpr std::uint32_t kToRecordEnd = UINT32_MAX;

/// One step: append the literal, then the value at `offset` from the base (the record, or within
/// an array the element).
struct Op {
    OpKind kind = OpKind::kLiteral;
    std::uint8_t bit_size = 0;         ///< not 0: a bitfield of this width
    std::uint8_t bit_shift = 0;        ///< its lowest bit, counted from the byte at `offset`
    std::uint16_t column = kNoColumn;  ///< text: which column's width it shares
    std::uint32_t offset = 0;
    std::uint32_t size = 0;         ///< bytes of the value, or of one array element
    std::uint32_t count = 0;        ///< of arrays: elements, or kToRecordEnd
    std::uint32_t body = 0;         ///< kArray: number of operations of one element
    std::uint32_t enumeration = 0;  ///< kEnum: index into DecodePlan's enumerations
    std::uint32_t literal_at = 0;
    std::uint32_t literal_size = 0;
};

/// The names of an enum's values, sorted by value.
struct Enumeration {
    struct Entry {
        std::uint64_t value;  ///< truncated to the enum's size, as loaded from a record
        std::string name;
    };
    std::vector<Entry> entries;
    bool is_signed = false;
};

/// Immutable once compiled.
class DecodePlan {
  public:
    /// Compiles a type for one output format. The head and tail are put around each value, e.g.
    /// {"type":"event","data": and }. The BTF need not outlive the plan.
    /// Throws Error when the type has no size (void, a function, a forward declaration) or the BTF
    /// is inconsistent.
    static DecodePlan compile(const btf& btf, std::uint32_t type_id, Format format,
                              std::string_view head = {}, std::string_view tail = {});

    [[nodiscard]] Format format() const noexcept { return format_; }
    /// Bytes that a record must have; of a flexible type, at least: up to where the array begins,
    /// which may lie before the type's end, among its padding.
    [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
    /// True if the record may be longer: the type ends in a flexible array.
    [[nodiscard]] bool is_flexible() const noexcept { return flexible_; }
    /// Bytes of an element of that array; 0 if there is none.
    [[nodiscard]] std::uint32_t flexible_element() const noexcept { return flexible_element_; }
    [[nodiscard]] bool accepts(std::size_t record_size) const noexcept {
        return flexible_ ? record_size >= size_ : record_size == size_;
    }
    /// Where a value says of which process it is: a number of 32 or 64 bits.
    [[nodiscard]] std::optional<std::uint32_t> process_at() const noexcept { return process_at_; }
    [[nodiscard]] std::span<const Op> ops() const noexcept { return ops_; }
    [[nodiscard]] std::uint16_t columns() const noexcept { return columns_; }
    [[nodiscard]] std::string_view literal(const Op& op) const noexcept {
        return {literals_.data() + op.literal_at, op.literal_size};
    }
    [[nodiscard]] const Enumeration& enumeration(const Op& op) const noexcept {
        return enumerations_[op.enumeration];
    }

  private:
    friend class DecodePlanCompiler;
    DecodePlan() = default;

    Format format_ = Format::kText;
    std::uint32_t size_ = 0;
    bool flexible_ = false;
    std::uint32_t flexible_element_ = 0;
    std::optional<std::uint32_t> process_at_;
    std::uint16_t columns_ = 0;
    std::vector<Op> ops_;
    std::string literals_;
    std::vector<Enumeration> enumerations_;
};

}  // namespace djprobe::loader
