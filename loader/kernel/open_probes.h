// SPDX-License-Identifier: GPL-2.0
// Probe fds of all processes, from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kernel/device.h"

namespace djprobe::loader {

/// A probe fd, and who has it. See djprobe_query for what its fdinfo tells.
struct OpenProbe {
    pid_t pid;
    int fd;
    std::string comm;
    std::uint64_t attachment;
    std::uint32_t program_id;
    std::uint32_t entry_program_id;  ///< of a session, else 0
};

/// By process; one that several have (by fork, or sent) once. Processes that end meanwhile are left
/// out. Throws Error(kNoPermission) when some may not be looked at.
std::vector<OpenProbe> find_open_probes(const std::filesystem::path& proc = "/proc");

/// A duplicate of the fd, or none when it has been closed since. Throws Error(kNoPermission).
std::optional<Probe> borrow(const OpenProbe& file);

/// "on_hit", or "" for a program that is gone.
std::string program_name(std::uint32_t id);

}  // namespace djprobe::loader
