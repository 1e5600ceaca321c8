// SPDX-License-Identifier: GPL-2.0
#include "kernel/rights.h"

#include <fmt/core.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <limits>

namespace djprobe::loader {
namespace {

bool maps_all_users(const char* path) {
    std::ifstream map(path);
    // Without /proc that is unknown, and no reason for anything.
    if (!map) return true;
    std::uint64_t inside = 1, outside = 1, count = 0;
    map >> inside >> outside >> count;
    return inside == 0 && outside == 0 && count == std::numeric_limits<std::uint32_t>::max();
}

const char* way_out(const Rights& rights) {
    return rights.user == 0 ? "run with all capabilities" : "run as root";
}

// User, group and other have three bits each; the kernel looks at one of them.
bool is_closed_to(const Rights& rights, const struct stat& file) {
    if (rights.has(Capability::kDacOverride) || rights.has(Capability::kDacReadSearch))
        return false;
    if (file.st_uid == rights.user) return (file.st_mode & S_IRUSR) == 0;
    const bool of_its_group = std::ranges::find(rights.groups, file.st_gid) != rights.groups.end();
    return (file.st_mode & (of_its_group ? S_IRGRP : S_IROTH)) == 0;
}

// "user 0", and of a file that a group may read its name, too: it is a way out.
std::string owner_of(const struct stat& file) {
    if ((file.st_mode & S_IRGRP) == 0) return fmt::format("user {}", file.st_uid);
    group entry{}, *named = nullptr;
    std::array<char, 4096> words{};
    getgrgid_r(file.st_gid, &entry, words.data(), words.size(), &named);
    return fmt::format("user {} and group {}", file.st_uid,
                       named != nullptr ? named->gr_name : std::to_string(file.st_gid));
}

std::vector<gid_t> groups_of_this_process() {
    std::vector<gid_t> groups(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
    const int count = getgroups(static_cast<int>(groups.size()), groups.data());
    groups.resize(static_cast<std::size_t>(std::max(count, 0)));
    groups.push_back(getegid());
    return groups;
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
        case Capability::kPerfmon:
            return "CAP_PERFMON";
        case Capability::kBpf:
            return "CAP_BPF";
    }
    return "a capability";
}

/// "CAP_BPF and CAP_PERFMON"
std::string names_of(const Capabilities& capabilities) {
    std::string names;
    for (const Capability capability : capabilities)
        names += (names.empty() ? "" : " and ") + std::string(name_of(capability));
    return names;
}

Capabilities missing(const Capabilities& needed, const Rights& rights) {
    Capabilities missing;
    std::ranges::copy_if(needed, std::back_inserter(missing),
                         [&](Capability capability) { return !rights.has(capability); });
    return missing;
}

std::string are_missing(const Capabilities& missing) {
    return names_of(missing) + (missing.size() == 1 ? " is missing" : " are missing");
}

bool has_bit(std::uint64_t capabilities, Capability capability) {
    return (capabilities >> static_cast<unsigned>(capability) & 1) != 0;
}

}  // namespace

bool Rights::has(Capability capability) const {
    const bool part = capability == Capability::kBpf || capability == Capability::kPerfmon;
    return has_bit(capabilities, capability) ||
           (part && has_bit(capabilities, Capability::kSysAdmin));
}

bool Rights::has(const Capabilities& all) const {
    return std::ranges::all_of(all, [&](Capability capability) { return has(capability); });
}

Rights Rights::of_this_process(const char* uid_map) {
    Rights rights;
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data = {};
    if (syscall(SYS_capget, &header, data.data()) == 0)
        rights.capabilities = data[0].effective | std::uint64_t{data[1].effective} << 32;
    rights.user = geteuid();
    rights.groups = groups_of_this_process();
    rights.in_initial_namespace = maps_all_users(uid_map);
    return rights;
}

std::string why_denied(const Capabilities& needed, const Rights& rights) {
    const Capabilities lacked = missing(needed, rights);
    if (!lacked.empty()) return fmt::format("{}: {}", are_missing(lacked), way_out(rights));
    const bool one = needed.size() == 1;
    if (!rights.in_initial_namespace)
        return fmt::format("{} {} of a user namespace: run outside of the container",
                           names_of(needed), one ? "is that" : "are those");
    return fmt::format(
        "although {} {} there: kernel lockdown, a security module or the device "
        "rules of a container forbid it",
        names_of(needed), one ? "is" : "are");
}

std::string why_not_opened(const char* path, const Capabilities& needed, const Rights& rights) {
    struct stat file = {};
    if (stat(path, &file) != 0 || !is_closed_to(rights, file)) return why_denied(needed, rights);
    const Capabilities lacked = missing(needed, rights);
    return fmt::format("mode {:04o} of {} is closed to user {}{}: {}", file.st_mode & 07777,
                       owner_of(file), rights.user,
                       lacked.empty() ? "" : ", and " + are_missing(lacked), way_out(rights));
}

int kptr_restrict(const char* path) {
    int value = 0;
    std::ifstream(path) >> value;
    return value;
}

bool shows_addresses(const Rights& rights, int restriction, int paranoid) {
    if (restriction > 1) return false;
    return (restriction == 0 && paranoid <= 1) || rights.has(Capability::kSyslog);
}

std::string why_hidden(int restriction, const Rights& rights) {
    if (restriction >= 2)
        return fmt::format("kernel.kptr_restrict is {}: set it below 2", restriction);
    return why_denied({Capability::kSyslog}, rights);
}

}  // namespace djprobe::loader
