// SPDX-License-Identifier: GPL-2.0
// Where a variable is at an instruction, as C of a program whose context is `ctx`.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "debuginfo/dwarf_file.h"

namespace djprobe::loader {

struct Location {
    enum class Kind {
        kNone,    ///< it has no value there that can be read; `why` says so
        kValue,   ///< `text` is the value: "ctx->di"
        kMemory,  ///< `text` is its address: "ctx->sp + 0x18"
        kWords,   ///< `words` are its bytes, eight in each
    };

    Kind kind = Kind::kNone;
    std::string text{};
    bool reads = false;  ///< the text has the macro READ()
    std::string why{};
    std::vector<std::string> words{};
    /// Registers as they were when the function began: the text has "given->di".
    std::vector<std::string> given{};
    bool has_text_symbol = false;  ///< the text has &_text, the kernel's first byte

    /// Of registers, as struct pt_regs names them, or of memory.
    [[nodiscard]] bool depends_on(const std::set<std::string>& registers, bool memory) const;
    bool operator==(const Location&) const = default;
};

/// A type of DWARF's arithmetic.
struct BaseType {
    std::uint64_t size;
    bool is_signed;
};

/// What an expression of DWARF refers to.
struct Surroundings {
    std::span<const Dwarf_Op> base;   ///< the function's own expression for its frame
    std::span<const Dwarf_Op> frame;  ///< where its frame is
    /// A variable of the kernel's data as C; or why there is none. Without it: none.
    std::function<Location(std::uint64_t address)> data{};
    /// By its place in the compilation unit.
    std::function<std::optional<BaseType>(std::uint64_t)> base_type{};
};

/// What is not understood has no value.
Location to_location(std::span<const Dwarf_Op> expression, const Surroundings& around);
/// A value that is the same everywhere.
Location constant_location(std::uint64_t value);
/// The bytes of one that is.
Location constant_location(std::span<const std::uint8_t> bytes);
Location no_location(std::string why);

}  // namespace djprobe::loader
