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
    kPerfmon = 38,
    kBpf = 39,
};
using Capabilities = std::vector<Capability>;

/// What loading a program and each call of the module need.
inline const Capabilities kToProbe = {Capability::kBpf, Capability::kPerfmon};

/// What the kernel looks at.
struct Rights {
    std::uint64_t capabilities = 0;    ///< the effective ones, a bit for each
    uid_t user = 0;                    ///< the effective one
    bool in_initial_namespace = true;  ///< of users: capabilities of another one do not count
    std::vector<gid_t> groups{};       ///< the effective one, and all others

    static Rights of_this_process(const char* uid_map = "/proc/self/uid_map");
    /// As the kernel sees it: CAP_SYS_ADMIN stands for CAP_BPF and CAP_PERFMON.
    [[nodiscard]] bool has(Capability capability) const;
    [[nodiscard]] bool has(const Capabilities& all) const;
};

/// Why what needs these capabilities failed with EPERM or EACCES, and what to do: "CAP_SYS_ADMIN is
/// missing: run as root".
std::string why_denied(const Capabilities& needed,
                       const Rights& rights = Rights::of_this_process());
/// The same of a file that could not be opened: its mode may be why.
std::string why_not_opened(const char* path, const Capabilities& needed,
                           const Rights& rights = Rights::of_this_process());

/// kernel.kptr_restrict; 0 where it cannot be read.
int kptr_restrict(const char* path = "/proc/sys/kernel/kptr_restrict");
/// Whether the kernel shows a task with these rights addresses of its own, by kernel.kptr_restrict
/// and kernel.perf_event_paranoid.
bool shows_addresses(const Rights& rights, int restriction, int paranoid);
/// Why /proc/kallsyms shows no addresses, and what to do.
std::string why_hidden(int restriction = kptr_restrict(),
                       const Rights& rights = Rights::of_this_process());

}  // namespace djprobe::loader
