// SPDX-License-Identifier: GPL-2.0
// Whose process this code runs in.
#pragma once

namespace djprobe::loader {

/// In a process that is not ours nothing may end it, print, or take its signals.
enum class Process {
    kOurs,     ///< probeload's
    kCallers,  ///< an application's, which uses libprobeload
};

}  // namespace djprobe::loader
