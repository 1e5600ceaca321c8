// SPDX-License-Identifier: GPL-2.0
#include "bench/workload.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/unique_fd.h"
#include "bench/unit.h"

namespace djprobe::loader {
namespace {

void set_name() {
    prctl(PR_SET_NAME, "probeload");
}

void get_group() {
    syscall(SYS_getpgid, 0);
}

void get_parent() {
    syscall(SYS_getppid);
}

void read_version() {
    static const UniqueFd file(open("/proc/version", O_RDONLY | O_CLOEXEC));
    char buffer[64];
    // The value does not matter, and an error cannot come.
    [[maybe_unused]] const ssize_t got = pread(file.get(), buffer, sizeof buffer, 0);
}

constexpr Workload kWorkloads[] = {
    {"prctl(PR_SET_NAME)", "__set_task_comm", set_name},
    {"getpgid(0)", "__x64_sys_getpgid", get_group},
    {"getppid()", "__x64_sys_getppid", get_parent},
    {"pread(/proc/version)", "vfs_read", read_version},
};

}  // namespace

std::span<const Workload> workloads() {
    return kWorkloads;
}

Pin::Pin() : cpu_(sched_getcpu()) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(cpu_), &one);
    if (sched_getaffinity(0, sizeof before_, &before_) != 0 ||
        sched_setaffinity(0, sizeof one, &one) != 0) {
        fail(ExitCode::kFailure, "cannot stay on CPU {}: {}", cpu_, std::strerror(errno));
    }
}

Pin::~Pin() {
    sched_setaffinity(0, sizeof before_, &before_);
}

std::vector<double> time_blocks(const Workload& workload, BlockPlan plan,
                                const std::function<void()>& between) {
    std::vector<double> samples;
    samples.reserve(plan.blocks);
    for (unsigned block = 0; block < plan.blocks; ++block) {
        const double start = now_ns();
        for (std::uint64_t call = 0; call < plan.calls; ++call)
            workload.call();
        samples.push_back((now_ns() - start) / static_cast<double>(plan.calls));
        between();
    }
    return samples;
}

}  // namespace djprobe::loader
