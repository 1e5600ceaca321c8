// SPDX-License-Identifier: GPL-2.0
#include "run/head_start.h"

#include <system_error>

namespace djprobe::loader {
namespace {

// Without a thread to be had it is done when it is asked for. With both policies std::async() would
// do that for EAGAIN only; a process whose children are in another PID namespace gets EINVAL.
template <typename Work>
auto begin_early(Work work) {
    try {
        return std::async(std::launch::async, work);
    } catch (const std::system_error&) {
        return std::async(std::launch::deferred, work);
    }
}

Kallsyms read_symbols() {
    return Kallsyms::read();
}

}  // namespace

void HeadStart::begin() {
    // About any function: all that the module has to find out first is the same.
    module_ = begin_early([this] { return device_.judge({"vfs_read", 0, 0}, 0); });
    symbols_ = begin_early(read_symbols).share();
}

void HeadStart::await_module() const {
    if (module_.valid()) module_.wait();
}

const Kallsyms& HeadStart::symbols() {
    if (!symbols_.valid()) symbols_ = std::async(std::launch::deferred, read_symbols).share();
    return symbols_.get();
}

}  // namespace djprobe::loader
