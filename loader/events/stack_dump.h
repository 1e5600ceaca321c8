// SPDX-License-Identifier: GPL-2.0
// Stack traces as results.
#pragma once

#include <optional>
#include <vector>

#include "decode/frame.h"
#include "events/map_dump.h"

namespace djprobe::loader {

/// Whether the object keeps stack traces.
bool has_stacks(const bpf_object* object);

/// The trace of this number in a stack map.
std::optional<std::vector<Frame>> find_stack(const bpf_map* map, __u32 id);

/// The traces of a stack map, 64 at most.
void dump_stacks(const bpf_map* map, FrameNames& names, MapDump& out);

}  // namespace djprobe::loader
