// SPDX-License-Identifier: GPL-2.0
// Events until something ends the session.
#pragma once

#include <functional>
#include <vector>

#include "base/output.h"
#include "base/stop_signals.h"
#include "events/reader.h"

namespace djprobe::loader {

enum class EndCause { kStop, kCommand, kOutputClosed };

/// What the loop does beside events, each time its descriptor is readable.
struct Watched {
    int fd;
    std::function<void()> act;
};

/// Prints events until a stop is requested, the end of the command (its pidfd, or
/// -1), or until the reader of stdout is gone.
EndCause run_event_loop(EventReader& events, Output& output, const StopSignals& stop,
                        int command_fd, const std::vector<Watched>& others = {});

}  // namespace djprobe::loader
