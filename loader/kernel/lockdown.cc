// SPDX-License-Identifier: GPL-2.0
#include "kernel/lockdown.h"

#include <fstream>
#include <string>

namespace djprobe::loader {

bool is_confidential(const char* state) {
    // "none integrity [confidentiality]"
    std::string line;
    std::getline(std::ifstream(state), line);
    return line.find("[confidentiality]") != line.npos;
}

}  // namespace djprobe::loader
