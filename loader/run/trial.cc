// SPDX-License-Identifier: GPL-2.0
#include "run/trial.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace djprobe::loader {
UniqueFd open_as_asked(const EventRequest& request, const EventArguments& arguments,
                       const ToolTask& task) {
    perf_event_attr attr = request.attr;
    attr.config1 = request.site.symbol.empty()
                       ? 0
                       : reinterpret_cast<std::uintptr_t>(request.site.symbol.c_str());
    const UniqueFd group = arguments.group >= 0 ? task.copy_fd(arguments.group) : UniqueFd();
    if (arguments.group >= 0 && !group) {
        errno = EBADF;
        return {};
    }
    const int pid = arguments.pid == 0 ? task.thread() : arguments.pid;
    return UniqueFd(static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, arguments.cpu,
                                             group ? group.get() : arguments.group,
                                             arguments.flags | PERF_FLAG_FD_CLOEXEC)));
}

int try_multi(const LinkAttributes& link, const MultiRequest& request, const UniqueFd& program) {
    const MultiArrays arrays(request);
    LinkAttributes attributes = link;
    attributes.prog_fd = static_cast<std::uint32_t>(program.get());
    if (link.multi.symbols) attributes.multi.symbols = arrays.symbols();
    if (link.multi.addresses) attributes.multi.addresses = arrays.addresses();
    if (link.multi.cookies) attributes.multi.cookies = arrays.cookies();
    const UniqueFd made(
        static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes)));
    return made ? 0 : errno;
}

}  // namespace djprobe::loader
