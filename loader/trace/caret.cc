// SPDX-License-Identifier: GPL-2.0
#include "trace/caret.h"

#include <algorithm>

#include "base/error.h"

namespace djprobe::loader {

void fail_at(std::string_view text, Span part, const std::string& message) {
    // Each letter takes one column: a tab or a line's end would shift the caret.
    std::string line(text);
    std::ranges::replace_if(
        line, [](unsigned char letter) { return letter < ' '; }, ' ');
    fail(ExitCode::kUsage, "{}\n  {}\n  {}{}", message, line, std::string(part.at, ' '),
         std::string(std::max<std::size_t>(part.size, 1), '^'));
}

}  // namespace djprobe::loader
