// SPDX-License-Identifier: GPL-2.0
// Instructions as text, in AT&T syntax as kernel people read it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "../../arch/x86/insn/types.h"

namespace djprobe::loader {

/// Names an address, as "SYM+0xOFF".
using Describe = std::function<std::string(std::uint64_t)>;

/// The instruction at bytes[0], with the name of the address that it refers to behind it; "(bad)"
/// when it cannot be decoded. `length` gets its bytes (1 for a bad one).
std::string disassemble(Span<const u8> bytes, std::uint64_t address, const Describe& describe,
                        std::size_t& length);

/// "48 8b 07".
std::string hex_bytes(Span<const u8> bytes);

}  // namespace djprobe::loader
