// SPDX-License-Identifier: GPL-2.0
#include "front.h"

namespace djprobe::x86 {
Front::Front(const FrontConfig& config, const Live& live, const Live& read)
    : is_there_(!config.conditions.empty()),
      flags_live_(live.flags),
      conditions_({.lahf = config.lahf, .actions = config.conditions, .task = config.task},
                  merge(live, read)) {}

void Front::emit(Emitter& out) {
    if (!is_there_) return;
    conditions_.begin(out);
    conditions_.restore(out);
}

void Front::end(Emitter& out) {
    if (!is_there_) return;
    if (conditions_.saves_nothing()) conditions_.bind_end(out);
    behind_ = out.here();
}

void Front::emit_cold(Emitter& out) {
    if (!is_there_ || conditions_.saves_nothing()) return;
    conditions_.bind_end(out);
    flags_live_ ? conditions_.restore(out) : conditions_.drop_flags(out);
    out.jump_back(behind_);
}

}  // namespace djprobe::x86
