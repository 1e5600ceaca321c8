// SPDX-License-Identifier: GPL-2.0
// How a run begins.
#pragma once

#include "kernel/device.h"
#include "run/options.h"
#include "run/passed_on.h"
#include "run/tool.h"

namespace djprobe::loader {

/// Of the tool's tasks much is asked of /proc, which may be none, or that of another PID namespace,
/// where their numbers are others'. Which events are kprobes says /sys, which may be none. Throws
/// Error then.
void require_files_of_kernel();

/// The module, if it puts probes in place now: alone, a tool would have hits. Throws Error else.
Device open_working_device();

/// The tool behind a filter; required with --strict. It blocks what our caller has blocked. Throws
/// Error where it cannot be run.
Tool start_tool(const RunOptions& options, const PassedOn& signals, Filter filter,
                Stdout output = Stdout::kOurs);

/// Each request of the tool's may take a descriptor. After the tool has begun, which has the
/// limits of before.
void raise_descriptor_limit();

}  // namespace djprobe::loader
