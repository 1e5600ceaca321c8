// SPDX-License-Identifier: GPL-2.0
#include "base/colour.h"

#include <unistd.h>

#include <cstdlib>

namespace djprobe::loader {

bool takes_sequences(int fd) {
    const char* const terminal = std::getenv("TERM");
    if (!terminal || std::string_view(terminal) == "dumb") return false;
    return isatty(fd) != 0;
}

bool takes_colours(int fd) {
    const char* const none = std::getenv("NO_COLOR");
    if (none && *none != '\0') return false;
    return takes_sequences(fd);
}

std::string coloured(std::string_view colour, std::string_view text) {
    return std::string(colour).append(text).append("\x1b[0m");
}

}  // namespace djprobe::loader
