// SPDX-License-Identifier: GPL-2.0
// Where the debug information of the running kernel and its modules lies.
#pragma once

#include <optional>
#include <string>

namespace djprobe::loader {

/// The file for the kernel itself (`module` is "") or a module: in `folder` (or that file itself),
/// else below /usr/lib/debug, where Debian's package has it, else from the servers that
/// DEBUGINFOD_URLS names. Throws Error(kBadFile): none, and which package to install; or the one
/// that is there belongs to another build.
std::string find_debug_file(const std::string& module, const std::optional<std::string>& folder);

/// That of another kernel, which lies in `kernel`, or of a module of it: `folder` itself where it
/// is a file, else the one in it that belongs to the same build. Throws Error(kBadFile).
std::string find_debug_file_of(const std::string& kernel, const std::string& module,
                               const std::string& folder);

/// The one below /usr/lib/debug, if there is one: no server is asked.
std::optional<std::string> installed_debug_file(const std::string& module);

}  // namespace djprobe::loader
