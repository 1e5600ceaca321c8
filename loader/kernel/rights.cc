// SPDX-License-Identifier: GPL-2.0
#include "kernel/rights.h"

#include <fmt/core.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <limits>

namespace djprobe::loader {
namespace {

bool maps_all_users(const char* path) {
    std::uint64_t inside = 1, outside = 1, count = 0;
    std::ifstream(path) >> inside >> outside >> count;
    return inside == 0 && outside == 0 && count == std::numeric_limits<std::uint32_t>::max();
}

const char* way_out(const Rights& rights) {
    return rights.user == 0 ? "run with all capabilities" : "run as root";
}

// User, group and other have three bits each; the kernel looks at one of them.
bool is_closed_to(const Rights& rights, const struct stat& file) {
    if (rights.has(Capability::kDacOverride) || rights.has(Capability::kDacReadSearch))
        return false;
    return file.st_uid == rights.user ? (file.st_mode & S_IRUSR) == 0
                                      : (file.st_mode & S_IROTH) == 0;
}

const char* name_of(Capability capability) {
    switch (capability) {
        case Capability::kDacOverride:
            return "CAP_DAC_OVERRIDE";
        case Capability::kDacReadSearch:
            return "CAP_DAC_READ_SEARCH";
        case Capability::kSysRawio:
            return "CAP_SYS_RAWIO";
        case Capability::kSysPtrace:
            return "CAP_SYS_PTRACE";
        case Capability::kSysAdmin:
            return "CAP_SYS_ADMIN";
        case Capability::kSyslog:
            return "CAP_SYSLOG";
    }
    return "a capability";
}

}  // namespace

Rights Rights::of_this_process() {
    Rights rights;
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data = {};
    if (syscall(SYS_capget, &header, data.data()) == 0)
        rights.capabilities = data[0].effective | std::uint64_t{data[1].effective} << 32;
    rights.user = geteuid();
    rights.in_initial_namespace = maps_all_users("/proc/self/uid_map");
    return rights;
}

std::string why_denied(Capability capability, const Rights& rights) {
    const char* const name = name_of(capability);
    if (!rights.has(capability)) return fmt::format("{} is missing: {}", name, way_out(rights));
    if (!rights.in_initial_namespace)
        return fmt::format("{} is that of a user namespace: run outside of the container", name);
    return fmt::format(
        "although {} is there: kernel lockdown, a security module or the device "
        "rules of a container forbid it",
        name);
}

std::string why_not_opened(const char* path, Capability capability, const Rights& rights) {
    struct stat file = {};
    if (stat(path, &file) != 0 || !is_closed_to(rights, file))
        return why_denied(capability, rights);
    const std::string also =
        rights.has(capability) ? "" : fmt::format(", and {} is missing", name_of(capability));
    return fmt::format("mode {:04o} of user {} is closed to user {}{}: {}", file.st_mode & 07777,
                       file.st_uid, rights.user, also, way_out(rights));
}

int kptr_restrict(const char* path) {
    int value = 0;
    std::ifstream(path) >> value;
    return value;
}

std::string why_hidden(int restriction, const Rights& rights) {
    if (restriction >= 2)
        return fmt::format("kernel.kptr_restrict is {}: set it below 2", restriction);
    return why_denied(Capability::kSyslog, rights);
}

}  // namespace djprobe::loader
