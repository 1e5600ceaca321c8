// SPDX-License-Identifier: GPL-2.0
#include "run/filter.h"

#include <fmt/core.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace djprobe::loader {
namespace {

// Since Linux 5.19: once probeload has read a notification, only a signal that kills the tool
// interrupts its call. Go's runtime sends its threads signals all the time.
constexpr unsigned kWaitKillable = 1u << 5;

// The lower half of an argument; the kernel takes commands as 32 bits, too.
constexpr unsigned argument(unsigned index) {
    return offsetof(seccomp_data, args) + index * sizeof(uint64_t);
}

sock_filter load(unsigned offset) {
    return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}

sock_filter result(unsigned action) {
    return BPF_STMT(BPF_RET | BPF_K, action);
}

// Skips the next `count` instructions unless the loaded word is `value`.
sock_filter unless(unsigned value, unsigned char count) {
    return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count);
}

// Of system call `number`, those that have one of the commands in an argument notify.
void add_call(std::vector<sock_filter>& filter, unsigned number, unsigned index,
              std::initializer_list<unsigned> commands) {
    const auto size = static_cast<unsigned char>(2 + 2 * commands.size());
    filter.push_back(unless(number, size));
    filter.push_back(load(argument(index)));
    for (const unsigned command : commands) {
        filter.push_back(unless(command, 1));
        filter.push_back(result(SECCOMP_RET_USER_NOTIF));
    }
    filter.push_back(result(SECCOMP_RET_ALLOW));
}

}  // namespace

std::vector<sock_filter> tool_filter() {
    std::vector<sock_filter> filter = {
        load(offsetof(seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        result(SECCOMP_RET_ALLOW),
        load(offsetof(seccomp_data, nr)),
        unless(SYS_perf_event_open, 1),
        result(SECCOMP_RET_USER_NOTIF),
    };
    add_call(
        filter, SYS_bpf, 0,
        {BPF_LINK_CREATE, BPF_LINK_UPDATE, BPF_LINK_DETACH, BPF_OBJ_GET_INFO_BY_FD, BPF_OBJ_PIN});
    add_call(filter, SYS_ioctl, 1, {PERF_EVENT_IOC_SET_BPF});
    filter.push_back(result(SECCOMP_RET_ALLOW));
    return filter;
}

UniqueFd install_tool_filter() {
    std::vector<sock_filter> filter = tool_filter();
    const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
    const auto install = [&](unsigned flags) {
        return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                        SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &program));
    };
    UniqueFd listener(install(kWaitKillable));
    if (!listener && errno == EINVAL) return UniqueFd(install(0));
    return listener;
}

std::string why_no_filter(int error) {
    if (error == EBUSY)
        return "the tool has a seccomp filter with a listener already, as in a container or under "
               "another 'probeload run', which sees its calls first";
    if (error == EACCES)
        return "a seccomp filter needs CAP_SYS_ADMIN, or no_new_privs (setpriv --no-new-privs "
               "probeload run ...)";
    return fmt::format("the kernel refuses the tool a seccomp filter with a listener: {}",
                       std::strerror(error));
}

}  // namespace djprobe::loader
