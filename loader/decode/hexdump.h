// SPDX-License-Identifier: GPL-2.0
// Records whose type is not known.
#pragma once

#include <cstddef>
#include <span>

#include "base/output.h"

namespace djprobe::loader {

/// Appends lines of 16 bytes: offset, hexadecimal, printable characters.
void append_hexdump(Buffer& out, std::span<const std::byte> bytes);
/// Appends the bytes as hexadecimal digits only.
void append_hex(Buffer& out, std::span<const std::byte> bytes);

}  // namespace djprobe::loader
