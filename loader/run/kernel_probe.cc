// SPDX-License-Identifier: GPL-2.0
#include "run/kernel_probe.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "run/placement.h"

namespace djprobe::loader {

perf_event_attr kprobe_attr_here(const EventRequest& request) {
    perf_event_attr attr = request.attr;
    // The tool's own pointer, to a name that may be empty, means nothing here.
    attr.config1 = request.site.symbol.empty()
                       ? 0
                       : reinterpret_cast<std::uintptr_t>(request.site.symbol.c_str());
    return attr;
}

UniqueFd open_kernel_event(const EventRequest& request) {
    perf_event_attr attr = kprobe_attr_here(request);
    return UniqueFd(static_cast<int>(
        syscall(SYS_perf_event_open, &attr, -1, 0, -1, std::uint64_t{PERF_FLAG_FD_CLOEXEC})));
}

bool set_kernel_program(const UniqueFd& event, const UniqueFd& program) {
    return ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program.get()) == 0;
}

UniqueFd link_kernel_event(const UniqueFd& event, const UniqueFd& program, std::uint64_t cookie) {
    bpf_link_create_opts options = {};
    options.sz = sizeof options;
    options.perf_event.bpf_cookie = cookie;
    return UniqueFd(bpf_link_create(program.get(), event.get(), BPF_PERF_EVENT, &options));
}

MultiArrays::MultiArrays(const MultiRequest& request) {
    for (const MultiTarget& target : request.targets) {
        symbols_.push_back(target.site.symbol.c_str());
        addresses_.push_back(target.site.address);
        cookies_.push_back(target.cookie);
    }
}

UniqueFd link_kernel_multi(const MultiRequest& request, const UniqueFd& program) {
    const MultiArrays arrays(request);
    const bool named = !request.targets.front().site.symbol.empty();
    LinkAttributes link = {};
    link.prog_fd = static_cast<std::uint32_t>(program.get());
    link.attach_type = BPF_TRACE_KPROBE_MULTI;
    link.multi.flags = request.at_returns ? BPF_F_KPROBE_MULTI_RETURN : 0;
    link.multi.count = static_cast<std::uint32_t>(request.targets.size());
    (named ? link.multi.symbols : link.multi.addresses) =
        named ? arrays.symbols() : arrays.addresses();
    if (request.has_cookies) link.multi.cookies = arrays.cookies();
    return UniqueFd(static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof link)));
}

std::uint32_t program_id(const UniqueFd& program) {
    bpf_prog_info info = {};
    __u32 size = sizeof info;
    return bpf_obj_get_info_by_fd(program.get(), &info, &size) == 0 ? info.id : 0;
}

std::uint32_t link_id(const UniqueFd& link) {
    bpf_link_info info = {};
    __u32 size = sizeof info;
    return bpf_obj_get_info_by_fd(link.get(), &info, &size) == 0 ? info.id : 0;
}

bool link_lives(std::uint32_t link_id) {
    return UniqueFd(bpf_link_get_fd_by_id(link_id)) || errno != ENOENT;
}

}  // namespace djprobe::loader
