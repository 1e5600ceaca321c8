// SPDX-License-Identifier: GPL-2.0
// Which memory ran short.
#pragma once

#include <sys/resource.h>

#include <string>

namespace djprobe::loader {

/// "out of memory: this process may use 100000 KiB of address space (ulimit -v): raise that, or
/// choose fewer functions". Without a limit the machine, or the control group, has no more.
std::string out_of_memory(rlim_t address_space, rlim_t data);
/// With the limits of this process.
std::string out_of_memory();

}  // namespace djprobe::loader
