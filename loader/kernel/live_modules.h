// SPDX-License-Identifier: GPL-2.0
// Which modules there are, as /proc/modules shows them. Symbols have more "modules": what BPF and
// ftrace make comes and goes under names like bpf and __builtin__ftrace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace djprobe::loader {

struct LiveModule {
    std::string name;
    std::uint64_t base;  ///< its text's, which the kernel lays out first; 0 where it is hidden
    std::uint64_t size;  ///< of all its memory
};

/// The modules that are neither loading nor unloading.
std::vector<LiveModule> live_modules(const char* path = "/proc/modules");

}  // namespace djprobe::loader
