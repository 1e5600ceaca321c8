// SPDX-License-Identifier: GPL-2.0
// Events until something ends the session.
#pragma once

#include "base/output.h"
#include "base/stop_signals.h"
#include "events/reader.h"

namespace djprobe::loader {

enum class EndCause { kStop, kCommand, kOutputClosed };

/// Prints events until a stop is requested, the end of the command (its pidfd, or
/// -1), or until the reader of stdout is gone.
EndCause run_event_loop(EventReader& events, Output& output, const StopSignals& stop,
                        int command_fd);

}  // namespace djprobe::loader
