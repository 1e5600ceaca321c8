// SPDX-License-Identifier: GPL-2.0
// Stack traces as results.
#pragma once

#include "events/map_dump.h"
#include "kernel/symbolizer.h"

namespace djprobe::loader {

/// Whether the object keeps stack traces.
bool has_stacks(const bpf_object* object);

/// The traces of a stack map, 64 at most: the kernel's frames by name, those of user space by
/// address.
void dump_stacks(const bpf_map* map, Symbolizer& symbolizer, MapDump& out);

}  // namespace djprobe::loader
