// SPDX-License-Identifier: GPL-2.0
#include "base/say.h"

#include <unistd.h>

#include "base/write.h"

namespace djprobe::loader {

void write_stderr(std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = write_some(STDERR_FILENO, text);
        if (written < 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace djprobe::loader
