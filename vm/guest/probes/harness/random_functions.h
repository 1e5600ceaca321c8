// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace djprobe::vm {

/// Functions of the kernel that the function tracer knows; on one kernel always the same.
std::vector<std::string> random_functions(size_t count);

}  // namespace djprobe::vm
