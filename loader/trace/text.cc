// SPDX-License-Identifier: GPL-2.0
#include "trace/text.h"

#include <fmt/core.h>

#include <algorithm>

namespace djprobe::loader {

void ProgramText::line(std::string_view lines) {
    while (true) {
        const std::string_view one = lines.substr(0, lines.find('\n'));
        if (one.starts_with('}')) --depth_;
        if (!one.empty()) text_ += std::string(static_cast<std::size_t>(4 * depth_), ' ');
        text_ += one;
        text_ += '\n';
        if (one.ends_with('{')) ++depth_;
        if (one.size() == lines.size()) return;
        lines.remove_prefix(one.size() + 1);
    }
}

std::string c_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        const bool plain = byte >= ' ' && byte < 0x7f && letter != '"' && letter != '\\';
        // Three digits end by themselves, whatever follows.
        quoted += plain ? std::string(1, letter) : fmt::format("\\{:03o}", byte);
    }
    return quoted + '"';
}

}  // namespace djprobe::loader
