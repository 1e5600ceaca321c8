// SPDX-License-Identifier: GPL-2.0
// The numbers by which programs know this process and other tasks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace djprobe::loader {

/// That of this process; none in a PID namespace of its own, where it is another one outside.
std::optional<pid_t> own_number();

/// No task has this number, or a larger one, unless the setting is changed.
std::uint32_t first_impossible_number(const char* path = "/proc/sys/kernel/pid_max");

}  // namespace djprobe::loader
