// SPDX-License-Identifier: GPL-2.0
// Conditions in front of a call: a hit for which one does not hold goes on without it.
#pragma once

#include "count.h"

namespace djprobe::x86 {

struct FrontConfig {
    Span<const Action> conditions = {};  ///< none: there is nothing in front
    TaskLayout task = {};                ///< if a condition asks for the task
    bool lahf = false;                   ///< the CPU has lahf and sahf in 64-bit mode
};

/// Emit the conditions, from the site's registers and flags to the same, where all hold.
class Front {
  public:
    /// `live`: what is live at the site; `read`: what the call behind needs besides.
    Front(const FrontConfig& config, const Live& live, const Live& read);

    void emit(Emitter& out);
    /// Behind the call: there a hit goes on that does not pass.
    void end(Emitter& out);
    /// What such a hit runs before that, if anything: to be placed behind all else.
    void emit_cold(Emitter& out);

  private:
    bool is_there_;
    bool flags_live_;
    Count conditions_;
    u64 behind_ = 0;
};

}  // namespace djprobe::x86
