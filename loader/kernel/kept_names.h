// SPDX-License-Identifier: GPL-2.0
// The names of probes in modules, for `probeload list` after the module has gone: the kernel
// forgets them with the module, and only the process that attached them knew.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/unique_fd.h"

namespace djprobe::loader {

/// "MODULE:SYM+0xOFF" by address.
using SiteNames = std::map<std::uint64_t, std::string>;

/// A file in memory that others find in /proc/PID/fd for as long as it is open; none without names,
/// or where the kernel makes none: names are a comfort.
UniqueFd keep_names(const SiteNames& names);

/// What a process keeps; empty when it keeps nothing, has ended, or is not ours to read.
SiteNames kept_names(pid_t pid, const std::filesystem::path& proc = "/proc");

}  // namespace djprobe::loader
