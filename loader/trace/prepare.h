// SPDX-License-Identifier: GPL-2.0
// From what was asked to a program, and to what attaching it needs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/process.h"
#include "base/temp_dir.h"
#include "kernel/device.h"
#include "trace/actions.h"
#include "trace/program.h"
#include "trace/trace_options.h"
#include "trace/types.h"

namespace djprobe::loader {

/// Takes a line for each place that is left out, or has its probes beside it.
using TellSites = std::function<void(const std::string&)>;

/// A question, and the program that answers it.
struct PreparedTrace {
    TraceOptions options;  ///< the question with the sites that debug information has
    Types types;
    TraceProgram program;
};

/// Throws Error, with a caret where an expression is wrong.
PreparedTrace prepare(const TraceOptions& asked, const TellSites& tell);

/// What the detour decides before the program, which asks again.
Front front_of(const PreparedTrace& trace);

/// The object's path, in the cache or in `directory`. Throws Error(kCompile).
std::filesystem::path compile_program(const PreparedTrace& trace, TempDir& directory,
                                      Process process = Process::kOurs);

/// For the object that the program was compiled to. `device`: the module's, where it will carry the
/// probes; it takes a part of the filters.
AttachOptions attach_options(const PreparedTrace& trace, const std::filesystem::path& object,
                             const Device* device);

}  // namespace djprobe::loader
