// SPDX-License-Identifier: GPL-2.0
#include "kernel/live_modules.h"

#include <fstream>
#include <sstream>
#include <utility>

namespace djprobe::loader {

std::vector<LiveModule> live_modules(const char* path) {
    std::vector<LiveModule> live;
    std::ifstream list(path);
    for (std::string line; std::getline(list, line);) {
        std::istringstream fields(line);
        LiveModule module{};
        std::string references, users, state;
        fields >> module.name >> module.size >> references >> users >> state >> std::hex >>
            module.base;
        if (fields && state == "Live") live.push_back(std::move(module));
    }
    return live;
}

}  // namespace djprobe::loader
