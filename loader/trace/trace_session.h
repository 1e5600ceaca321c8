// SPDX-License-Identifier: GPL-2.0
// `probeload trace`: a question becomes a program, which runs as `probeload attach` runs it.
#pragma once

#include <filesystem>

#include "session/numbers_watch.h"
#include "session/options.h"
#include "trace/program.h"
#include "trace/trace_options.h"

namespace djprobe::loader {

/// For the object that the program was compiled to.
AttachOptions attach_options(const TraceOptions& options, const TraceProgram& program,
                             const std::filesystem::path& object);

/// Returns the exit status. Throws Error. `numbers`: takes them, too, and histograms.
int run_trace(const TraceOptions& options, const Numbers& numbers = {});

}  // namespace djprobe::loader
