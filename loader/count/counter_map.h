// SPDX-License-Identifier: GPL-2.0
// The BPF map that holds the counters of one `probeload count`.
#pragma once

#include <cstddef>

#include "base/unique_fd.h"

namespace djprobe::loader {

/// A percpu_array named djprobe_count with room for so many counters, as kernel/device.h lays them
/// out, and with types by which `bpftool map dump` shows them. Throws Error where the kernel
/// refuses it.
UniqueFd make_counter_map(std::size_t counters);

}  // namespace djprobe::loader
