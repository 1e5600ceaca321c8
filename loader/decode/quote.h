// SPDX-License-Identifier: GPL-2.0
// Bytes of unknown content as a quoted string.
#pragma once

#include <string>
#include <string_view>

#include "base/output.h"
#include "decode/format.h"

namespace djprobe::loader {

/// The bytes as "...". Valid, printable UTF-8 stays as it is. In JSON, control characters
/// take JSON's escapes and bytes that are not UTF-8 become the four characters \xNN; in text, both
/// become \xNN (or \n, \t), and a backslash is doubled.
void append_quoted(Buffer& out, std::string_view bytes, Format format);
std::string quoted(std::string_view bytes, Format format);

/// For text that people read and that holds foreign names: control characters become \xNN, but
/// newlines and tabs stay, as quotes and backslashes do.
std::string printable(std::string_view text);
/// The same of one name, which is to stay in its line and column: newlines and tabs are escaped,
/// too.
std::string printable_name(std::string_view name);

}  // namespace djprobe::loader
