// SPDX-License-Identifier: GPL-2.0
// Debug information from a server, by libdebuginfod, which is loaded only for this.
#pragma once

#include <string>

#include "debuginfo/build_id.h"

namespace djprobe::loader {

/// The path of a copy that libdebuginfod keeps. `what` is for messages. Throws Error(kBadFile).
std::string fetch_debug_file(const BuildId& id, const std::string& what);

}  // namespace djprobe::loader
