// SPDX-License-Identifier: GPL-2.0
// Events that the kernel counts for one task or one cgroup, and callers that are killed.
#pragma once

#include "seen.h"

namespace djprobe::vm {

/// The events of CPU 0 count for this thread from now on.
void keep_to_first_cpu();

/// Of a child, which has another number outside of its PID namespace: beside a probe that counts
/// for all.
void of_one_task(const Seen& seen);
/// The same of the root cgroup, which is named by a descriptor.
void of_one_cgroup(const Seen& seen);
/// Children that are killed while their threads ask.
void killed(const Seen& seen);

}  // namespace djprobe::vm
