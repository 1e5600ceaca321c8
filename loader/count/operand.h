// SPDX-License-Identifier: GPL-2.0
// What a site's registers hold, as a user names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernel/prototypes.h"
#include "kernel/site_spec.h"

namespace djprobe::loader {

/// A register, the lowest bytes of one, or memory that one leads to.
struct Operand {
    std::uint8_t reg;    ///< by its number in instructions
    std::uint8_t width;  ///< 1, 2, 4 or 8 bytes
    bool is_signed;
    std::optional<std::int32_t> displacement{};  ///< of memory, from what the register holds
};

/// "rdi", "edi", "r10d" or "0x18(%rdi):4" at any site; "arg1" to "arg6" at functions' entries;
/// "count", where BTF tells the arguments of that one function. Throws Error(kUsage).
Operand find_operand(std::string_view text, const SiteSpec& site, Prototypes& prototypes);

}  // namespace djprobe::loader
