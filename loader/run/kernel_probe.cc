// SPDX-License-Identifier: GPL-2.0
#include "run/kernel_probe.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace djprobe::loader {

UniqueFd open_kernel_event(const EventRequest& request) {
    perf_event_attr attr = request.attr;
    // The tool's own pointer, to a name that may be empty, means nothing here.
    attr.config1 = request.site.symbol.empty()
                       ? 0
                       : reinterpret_cast<std::uintptr_t>(request.site.symbol.c_str());
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

UniqueFd link_kernel_multi(const MultiRequest& request, const UniqueFd& program) {
    std::vector<const char*> symbols;
    std::vector<unsigned long> addresses;
    std::vector<__u64> cookies;
    for (const MultiTarget& target : request.targets) {
        symbols.push_back(target.site.symbol.c_str());
        addresses.push_back(target.site.address);
        cookies.push_back(target.cookie);
    }
    const bool named = !request.targets.front().site.symbol.empty();
    bpf_link_create_opts options = {};
    options.sz = sizeof options;
    options.kprobe_multi.flags = request.at_returns ? BPF_F_KPROBE_MULTI_RETURN : 0;
    options.kprobe_multi.cnt = static_cast<__u32>(request.targets.size());
    options.kprobe_multi.syms = named ? symbols.data() : nullptr;
    options.kprobe_multi.addrs = named ? nullptr : addresses.data();
    options.kprobe_multi.cookies = cookies.data();
    return UniqueFd(bpf_link_create(program.get(), 0, BPF_TRACE_KPROBE_MULTI, &options));
}

std::uint32_t program_id(const UniqueFd& program) {
    bpf_prog_info info = {};
    __u32 size = sizeof info;
    return bpf_obj_get_info_by_fd(program.get(), &info, &size) == 0 ? info.id : 0;
}

}  // namespace djprobe::loader
