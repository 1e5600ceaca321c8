// SPDX-License-Identifier: GPL-2.0
#include "run/head_start.h"

namespace djprobe::loader {
namespace {

// Without a thread to be had it is done when it is asked for.
constexpr auto kEarly = std::launch::async | std::launch::deferred;

Kallsyms read_symbols() {
    return Kallsyms::read();
}

}  // namespace

void HeadStart::begin() {
    // About any function: all that the module has to find out first is the same.
    module_ = std::async(kEarly, [this] { return device_.judge({"vfs_read", 0, 0}, 0); });
    symbols_ = std::async(kEarly, read_symbols).share();
}

void HeadStart::await_module() const {
    if (module_.valid()) module_.wait();
}

const Kallsyms& HeadStart::symbols() {
    if (!symbols_.valid()) symbols_ = std::async(std::launch::deferred, read_symbols).share();
    return symbols_.get();
}

}  // namespace djprobe::loader
