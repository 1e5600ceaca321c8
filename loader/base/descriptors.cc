// SPDX-License-Identifier: GPL-2.0
#include "base/descriptors.h"

#include <fmt/core.h>

namespace djprobe::loader {
namespace {

rlim_t given = 0;  // the soft limit before it was raised; 0: it was not

rlimit limit_now() {
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit;
}

bool set_soft(rlim_t soft) {
    rlimit limit = limit_now();
    limit.rlim_cur = soft;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace

void use_all_descriptors() {
    const rlimit limit = limit_now();
    if (limit.rlim_cur < limit.rlim_max && set_soft(limit.rlim_max) && given == 0)
        given = limit.rlim_cur;
}

std::string out_of_descriptors() {
    return fmt::format("too many open files: this process may have {} (ulimit -n): raise that",
                       limit_now().rlim_cur);
}

GivenDescriptorLimit::GivenDescriptorLimit() {
    if (given == 0) return;
    const rlim_t now = limit_now().rlim_cur;
    if (set_soft(given)) raised_ = now;
}

GivenDescriptorLimit::~GivenDescriptorLimit() {
    if (raised_ != 0) set_soft(raised_);
}

}  // namespace djprobe::loader
