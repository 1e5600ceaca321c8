// SPDX-License-Identifier: GPL-2.0
#include "kernel/own_number.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace djprobe::loader {

std::optional<pid_t> own_number() {
    std::error_code error;
    // The kernel's PROC_PID_INIT_INO.
    if (std::filesystem::read_symlink("/proc/self/ns/pid", error) != "pid:[4026531836]")
        return std::nullopt;
    return getpid();
}

std::uint32_t first_impossible_number(const char* path) {
    // The kernel's PID_MAX_LIMIT.
    constexpr std::uint32_t kMost = 4'194'304;
    std::uint32_t first = 0;
    std::ifstream(path) >> first;
    return first == 0 || first > kMost ? kMost : first;
}

}  // namespace djprobe::loader
