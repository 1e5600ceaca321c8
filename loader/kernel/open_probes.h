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

/// A probe fd, and the process that has it. See djprobe_query for what its fdinfo tells.
struct OpenProbe {
    pid_t pid;
    int fd;
    std::string comm;
    std::uint64_t attachment;
    std::uint32_t program_id;
    std::uint32_t entry_program_id;  ///< of a session, else 0
    std::uint32_t map_id = 0;        ///< of what only counts, else 0
};

/// All probe fds, by process; one that several processes share (by fork, or sent) once, that of a
/// tool under `probeload run` as the tool's. Leaves out
/// processes that end meanwhile. Throws Error(kNoPermission) when /proc hides some.
std::vector<OpenProbe> find_open_probes(const std::filesystem::path& proc = "/proc");

/// A duplicate of the fd, or none when it has been closed since. Throws Error(kNoPermission).
std::optional<Probe> borrow(const OpenProbe& file);

/// "on_hit", or "" for a program that is gone.
std::string program_name(std::uint32_t id);
/// "djprobe_count", or "" for a map that is gone.
std::string map_name(std::uint32_t id);

}  // namespace djprobe::loader
