// SPDX-License-Identifier: GPL-2.0
#include "trace/words.h"

#include <algorithm>

namespace djprobe::loader {

std::string upper(std::string text) {
    std::ranges::transform(text, text.begin(), [](char letter) {
        return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    });
    return text;
}

std::string csv_word(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char letter : text)
        quoted += letter == '"' ? "\"\"" : std::string(1, letter);
    return quoted + '"';
}

}  // namespace djprobe::loader
