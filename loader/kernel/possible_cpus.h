// SPDX-License-Identifier: GPL-2.0
// For how many CPUs the kernel has made room.
#pragma once

#include <cstddef>

namespace djprobe::loader {

/// So many values a per-CPU map has. Throws Error(kFailure).
std::size_t possible_cpus();

}  // namespace djprobe::loader
