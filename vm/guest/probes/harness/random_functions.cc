// SPDX-License-Identifier: GPL-2.0
#include "random_functions.h"

#include <algorithm>
#include <fstream>
#include <random>

namespace djprobe::vm {

std::vector<std::string> random_functions(size_t count) {
    std::ifstream names("/sys/kernel/tracing/available_filter_functions");
    std::vector<std::string> functions;
    std::string line;
    while (std::getline(names, line))
        if (line.find(' ') == line.npos) functions.push_back(line);
    std::mt19937_64 random(functions.size());
    std::shuffle(functions.begin(), functions.end(), random);
    functions.resize(std::min(count, functions.size()));
    return functions;
}

}  // namespace djprobe::vm
