// SPDX-License-Identifier: GPL-2.0
#include "run/trial.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "run/task_number.h"

namespace djprobe::loader {
namespace {

// The last thing that a kernel runs.
constexpr const char* kNeverRun = "kernel_halt";

// Whom the tool means: in its PID namespace the number may be another task's. 0: nobody.
pid_t task_here(pid_t asked, const ToolTask& task) {
    if (asked == 0) return task.thread();
    return asked > 0 ? number_here(task.thread(), asked) : asked;
}

UniqueFd open_in_group(const perf_event_attr& asked, const EventArguments& arguments,
                       const ToolTask& task, int group) {
    perf_event_attr attr = asked;  // the kernel writes its size there
    // It neither counts nor sends signals, which the tool itself may have no right to.
    attr.disabled = 1;
    attr.enable_on_exec = 0;
    const bool of_cgroup = (arguments.flags & PERF_FLAG_PID_CGROUP) != 0;
    const UniqueFd cgroup = of_cgroup ? task.copy_fd(arguments.pid) : UniqueFd();
    const int pid = of_cgroup ? cgroup.get() : task_here(arguments.pid, task);
    if (pid == 0) {
        errno = ESRCH;
        return {};
    }
    return UniqueFd(static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, arguments.cpu, group,
                                             arguments.flags | PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace

UniqueFd open_stand_in(const EventRequest& request) {
    EventRequest other = request;
    other.site = {kNeverRun, 0, 0};
    other.attr.config2 = 0;
    return open_kernel_event(other);
}

UniqueFd open_place_holder(const EventRequest& request) {
    EventRequest bare = {{}, request.site, request.at_returns};
    bare.attr.size = request.attr.size;
    bare.attr.type = request.attr.type;
    bare.attr.config = request.attr.config;
    bare.attr.config2 = request.attr.config2;
    bare.attr.disabled = 1;
    return open_kernel_event(bare);
}

UniqueFd open_as_asked(const EventRequest& request, const EventArguments& arguments,
                       const ToolTask& task) {
    const UniqueFd group = arguments.group >= 0 ? task.copy_fd(arguments.group) : UniqueFd();
    if (arguments.group >= 0 && !group) {
        errno = EBADF;
        return {};
    }
    return open_in_group(kprobe_attr_here(request), arguments, task,
                         group ? group.get() : arguments.group);
}

int try_member(const perf_event_attr& attr, const EventArguments& arguments, const ToolTask& task,
               const UniqueFd& leader) {
    return open_in_group(attr, arguments, task, leader.get()) ? 0 : errno;
}

int try_link(std::vector<std::byte> attributes, const UniqueFd& event, const UniqueFd& program) {
    if (!event) return 0;
    const std::array<int, 2> descriptors = {program.get(), event.get()};
    std::memcpy(attributes.data(), descriptors.data(),
                std::min(attributes.size(), sizeof descriptors));
    const UniqueFd made(
        static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, attributes.data(), attributes.size())));
    return made ? 0 : errno;
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
