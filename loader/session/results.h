// SPDX-License-Identifier: GPL-2.0
// What an object's maps, variables and events tell so far.
#pragma once

#include "events/reader.h"
#include "object/object.h"
#include "session/loss_watch.h"
#include "session/running.h"
#include "session/summary.h"

namespace djprobe::loader {

/// All but the attachments, which must be there already, how the command ended, and the maps.
void add_results(const Object& object, const EventReader& events, const Running& running,
                 Summary& summary);

/// What maps and variables hold; `at_end`: nobody looks at them any more.
void add_maps(const Object& object, const EventReader& events, bool at_end, FrameNames& names,
              Summary& summary);

/// What is known to be lost or missed by now.
Losses count_losses(const Object& object, const EventReader& events, const Running& running);

/// Whether all hits have run the program, and all events have come, as far as that is known.
bool is_complete(const Summary& summary);

}  // namespace djprobe::loader
