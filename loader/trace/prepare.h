// SPDX-License-Identifier: GPL-2.0
// From what was asked to a program, and to what attaching it needs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/temp_dir.h"
#include "trace/program.h"
#include "trace/trace_options.h"

namespace djprobe::loader {

/// Takes a line for each place that is left out, or has its probes beside it.
using TellSites = std::function<void(const std::string&)>;

/// The program; the question gets the sites that debug information finds for it. Throws Error, with
/// a caret where an expression is wrong.
TraceProgram prepare(TraceOptions& options, Types& types, const TellSites& tell);

/// The object's path, in the cache or in `directory`. Throws Error(kCompile).
std::filesystem::path compile_program(const TraceProgram& program, const Types& types,
                                      TempDir& directory, Process process = Process::kOurs);

/// For the object that the program was compiled to.
AttachOptions attach_options(const TraceOptions& options, const TraceProgram& program,
                             const std::filesystem::path& object);

}  // namespace djprobe::loader
