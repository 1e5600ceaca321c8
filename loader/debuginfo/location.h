// SPDX-License-Identifier: GPL-2.0
// Where a variable is at an instruction, as C of a program whose context is `ctx`.
#pragma once

#include <span>
#include <string>

#include "debuginfo/dwarf_file.h"

namespace djprobe::loader {

struct Location {
    enum class Kind {
        kNone,    ///< it has no value there that can be read; `why` says so
        kValue,   ///< `text` is the value: "ctx->di"
        kMemory,  ///< `text` is its address: "ctx->sp + 0x18"
    };

    Kind kind = Kind::kNone;
    std::string text{};
    bool reads = false;  ///< the text has the macro READ()
    std::string why{};

    bool operator==(const Location&) const = default;
};

/// An expression of DWARF. `frame` is where the function's frame is, `base` the function's own
/// expression for it. What is not understood has no value.
Location to_location(std::span<const Dwarf_Op> expression, std::span<const Dwarf_Op> base,
                     std::span<const Dwarf_Op> frame);
/// A value that is the same everywhere.
Location constant_location(std::uint64_t value);

}  // namespace djprobe::loader
