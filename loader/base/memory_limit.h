// SPDX-License-Identifier: GPL-2.0
// Which memory ran short.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>

namespace djprobe::loader {

/// "out of memory: this process may use 100000 KiB of address space (ulimit -v): raise that, or
/// choose fewer functions". Without a limit the machine, or the control group, has no more.
std::string out_of_memory(rlim_t address_space, rlim_t data);
/// Bytes that the machine can give without swapping (MemAvailable); the largest number where
/// /proc/meminfo does not tell.
std::uint64_t available_memory(const char* path = "/proc/meminfo");
/// With the limits of this process.
std::string out_of_memory();

}  // namespace djprobe::loader
