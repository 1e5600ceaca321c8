// SPDX-License-Identifier: GPL-2.0
#include "doctor/machine.h"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace djprobe::loader::doctor {

Machine Machine::running() {
    utsname name = {};
    uname(&name);
    return {"/", name.release, Rights::of_this_process()};
}

std::filesystem::path Machine::at(std::string_view path) const {
    return root_ / path.substr(1);
}

bool Machine::has(std::string_view path) const {
    std::error_code ignored;
    return std::filesystem::exists(at(path), ignored);
}

std::optional<std::string> Machine::file(std::string_view path) const {
    std::ifstream stream(at(path), std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(stream), {}};
    // A directory opens, and reads as nothing.
    if (!stream || stream.bad()) return {};
    return content;
}

std::optional<std::string> Machine::line(std::string_view path) const {
    std::optional<std::string> content = file(path);
    if (content) content->resize(std::min(content->size(), content->find('\n')));
    return content;
}

}  // namespace djprobe::loader::doctor
