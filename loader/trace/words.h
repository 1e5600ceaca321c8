// SPDX-License-Identifier: GPL-2.0
// Words as tables and CSV write them.
#pragma once

#include <string>

namespace djprobe::loader {

std::string upper(std::string text);
/// As RFC 4180 has it: in quotes where it needs them.
std::string csv_word(const std::string& text);

}  // namespace djprobe::loader
