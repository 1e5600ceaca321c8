// SPDX-License-Identifier: GPL-2.0
#include "base/memory_limit.h"

#include <fmt/core.h>

#include <fstream>
#include <limits>

namespace djprobe::loader {
namespace {

rlim_t limit_of(__rlimit_resource resource) {
    rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    getrlimit(resource, &limit);
    return limit.rlim_cur;
}

}  // namespace

std::string out_of_memory(rlim_t address_space, rlim_t data) {
    const bool by_data = data < address_space;
    const rlim_t limit = by_data ? data : address_space;
    if (limit == RLIM_INFINITY)
        return "out of memory: the machine, or this process' control group, has no more: free "
               "some, "
               "or choose fewer functions";
    return fmt::format(
        "out of memory: this process may use {} KiB of {} (ulimit {}): raise that, or choose fewer "
        "functions",
        limit >> 10, by_data ? "data" : "address space", by_data ? "-d" : "-v");
}

std::uint64_t available_memory(const char* path) {
    std::ifstream file(path);
    std::string name;
    std::uint64_t kib = 0;
    for (std::string unit; file >> name >> kib; std::getline(file, unit))
        if (name == "MemAvailable:") return kib << 10;
    return std::numeric_limits<std::uint64_t>::max();
}

std::string out_of_memory() {
    return out_of_memory(limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA));
}

}  // namespace djprobe::loader
