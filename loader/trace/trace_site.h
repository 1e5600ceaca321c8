// SPDX-License-Identifier: GPL-2.0
// A place of a trace that debug information has found, with the variables there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "debuginfo/variables.h"
#include "kernel/site_spec.h"

namespace djprobe::loader {

struct TraceSite {
    SiteSpec site;
    std::string about;  ///< "fs/read_write.c:470, vfs_read"
    std::vector<SourceVariable> variables{};
    /// Where a probe keeps what the function was given, and the frame by which it is found again;
    /// none where that cannot be.
    std::optional<SiteSpec> entry{};
    std::string frame{};
};

}  // namespace djprobe::loader
