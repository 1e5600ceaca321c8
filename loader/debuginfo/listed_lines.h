// SPDX-License-Identifier: GPL-2.0
// The lines of a function of the running kernel, with how their instructions can be probed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "debuginfo/function_lines.h"

namespace djprobe::loader {

/// `symbol`: "vfs_read", "ext4:ext4_readdir". `debuginfo`: a folder, or the file; none: what is
/// installed. Where the module djprobe is not there it says so, and the instructions stand alone.
/// Throws Error.
std::vector<LineSites> listed_lines(const std::string& symbol,
                                    const std::optional<std::string>& debuginfo);

}  // namespace djprobe::loader
