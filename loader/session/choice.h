// SPDX-License-Identifier: GPL-2.0
// Which programs of an object run, and who attaches them: the command line's word, then the
// object's.
#pragma once

#include <string>
#include <vector>

#include "object/object.h"
#include "session/options.h"

namespace djprobe::loader {

struct Choice {
    std::vector<Program> probes;        ///< for djprobe
    std::vector<Program> others;        ///< for libbpf
    std::vector<std::string> left_out;  ///< why others are not taken: a line each
};

/// Throws Error: kUsage, kWrongProgram, kBadFile.
Choice choose_programs(const AttachOptions& options, const Object& object);

}  // namespace djprobe::loader
