// SPDX-License-Identifier: GPL-2.0
// What a site's registers hold, as a user names it.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernel/prototypes.h"
#include "kernel/site_spec.h"

namespace djprobe::loader {

/// A register, or the lowest bytes of one.
struct Operand {
    std::uint8_t reg;    ///< by its number in instructions
    std::uint8_t width;  ///< 1, 2, 4 or 8 bytes
    bool is_signed;
};

/// "rdi", "edi" or "r10d" at any site; "arg1" to "arg6" at functions' entries; "count", where BTF
/// tells the arguments of that one function. Throws Error(kUsage).
Operand find_operand(std::string_view text, const SiteSpec& site, Prototypes& prototypes);

}  // namespace djprobe::loader
