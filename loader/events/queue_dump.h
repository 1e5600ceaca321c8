// SPDX-License-Identifier: GPL-2.0
// Maps that are queues and stacks, as results.
#pragma once

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "decode/frame.h"
#include "events/map_dump.h"

namespace djprobe::loader {

bool is_queue(const bpf_map* map);

/// At the end all that is in it, in the order in which it comes out, and it is empty then, unless
/// others have the map, too (it is pinned). Else only what comes out next.
void dump_queue(const btf* btf, const bpf_map* map, bool at_end, FrameNames& names, MapDump& out);

}  // namespace djprobe::loader
