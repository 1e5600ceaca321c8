// SPDX-License-Identifier: GPL-2.0
// What blows in a storm, and what all of its processes count together.
#pragma once

#include <atomic>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace djprobe::vm {

/// In memory that all processes share.
struct StormTotals {
    std::atomic<bool> stop;
    std::atomic<uint64_t> calls;  ///< of getpgid, by the load
    std::atomic<uint64_t> wrong;  ///< results that differ from an unprobed run's
    std::atomic<uint64_t> attached, refused, detached, toggled, waited, many;
    std::atomic<uint64_t> kills;      ///< of loaders, by SIGKILL
    std::atomic<uint64_t> gusts[16];  ///< by wind, without those that were refused
};

/// One thing that others do to the kernel, again and again.
struct Wind {
    std::string_view name;
    /// Once; false: the kernel has refused it. Throws std::runtime_error.
    bool (*blow)(std::mt19937_64& dice);
    void (*calm)();  ///< as it was before
};

std::span<const Wind> text_winds();
std::span<const Wind> machine_winds();
std::span<const Wind> bpf_winds();
/// Null: there is none of that name.
const Wind* find_wind(std::string_view name);

/// Throws std::runtime_error with what errno says.
void must(bool done, const char* what);
/// Writes to a file of /proc or /sys. False: the kernel refuses.
bool write_file(const std::string& path, const std::string& text);

}  // namespace djprobe::vm
