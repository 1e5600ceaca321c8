// SPDX-License-Identifier: GPL-2.0
// Which right this process lacks, for messages.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace djprobe::loader {

/// Those that probeload needs; the numbers are the kernel's.
enum class Capability {
    kDacOverride = 1,
    kDacReadSearch = 2,
    kSysRawio = 17,
    kSysPtrace = 19,
    kSysAdmin = 21,
    kSyslog = 34,
};

/// What the kernel looks at.
struct Rights {
    std::uint64_t capabilities = 0;    ///< the effective ones, a bit for each
    uid_t user = 0;                    ///< the effective one
    bool in_initial_namespace = true;  ///< of users: capabilities of another one do not count
    std::vector<gid_t> groups{};       ///< the effective one, and all others

    static Rights of_this_process();
    [[nodiscard]] bool has(Capability capability) const {
        return (capabilities >> static_cast<unsigned>(capability) & 1) != 0;
    }
};

/// Why what needs this capability failed with EPERM or EACCES, and what to do: "CAP_SYS_ADMIN is
/// missing: run as root".
std::string why_denied(Capability capability, const Rights& rights = Rights::of_this_process());
/// The same of a file that could not be opened: its mode may be why.
std::string why_not_opened(const char* path, Capability capability,
                           const Rights& rights = Rights::of_this_process());

/// kernel.kptr_restrict; 0 where it cannot be read.
int kptr_restrict(const char* path = "/proc/sys/kernel/kptr_restrict");
/// Why /proc/kallsyms shows no addresses, and what to do.
std::string why_hidden(int restriction = kptr_restrict(),
                       const Rights& rights = Rights::of_this_process());

}  // namespace djprobe::loader
