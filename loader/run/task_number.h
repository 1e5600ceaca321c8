// SPDX-License-Identifier: GPL-2.0
// What tasks are called in other PID namespaces.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace djprobe::loader {

/// "NAME:\tVALUE" in a file of /proc; "" where there is none.
std::string field_of(const std::string& path, std::string_view name);

/// The number here of the task that `thread` knows by `number`; 0: there is none.
pid_t number_here(pid_t thread, pid_t number);

}  // namespace djprobe::loader
