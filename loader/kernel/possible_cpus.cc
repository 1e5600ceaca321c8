// SPDX-License-Identifier: GPL-2.0
#include "kernel/possible_cpus.h"

#include <bpf/libbpf.h>

#include <cstring>

#include "base/error.h"

namespace djprobe::loader {

std::size_t possible_cpus() {
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0) fail(ExitCode::kFailure, "counting the CPUs in /sys: {}", std::strerror(-cpus));
    return static_cast<std::size_t>(cpus);
}

}  // namespace djprobe::loader
