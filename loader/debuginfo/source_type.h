// SPDX-License-Identifier: GPL-2.0
// A type of the source, by the names that C has for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debuginfo/dwarf_file.h"
#include "debuginfo/location.h"

namespace djprobe::loader {

struct SourceType {
    /// A pointer to the next, or an array of so many.
    struct Layer {
        bool is_pointer = true;
        std::uint32_t count = 0;
        bool operator==(const Layer&) const = default;
    };
    /// "struct" and "file", "" and "loff_t".
    struct Name {
        std::string tag, name;
        bool operator==(const Name&) const = default;
    };

    std::vector<Layer> layers{};  ///< the outermost first
    std::vector<Name> names{};    ///< of what is behind them; a typedef, then what it stands for
    std::uint64_t size = 0;       ///< of that; 0: void, a function, or not known
    bool is_number = false;       ///< or a bool or an enum
    bool is_signed = false;
    bool is_understood = true;

    bool operator==(const SourceType&) const = default;
};

/// That of a variable.
SourceType type_of(Dwarf_Die variable);
/// None: it is no whole number.
std::optional<BaseType> base_type_of(Dwarf_Die type);

}  // namespace djprobe::loader
