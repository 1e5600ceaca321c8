// SPDX-License-Identifier: GPL-2.0
// Descriptors used as few tools do, and probes that the kernel must place where others are.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "../probes/harness/probe.h"
#include "seen.h"

namespace djprobe::vm {

/// PERF_EVENT_IOC_ID as a 32-bit program makes it: 0 or an errno.
int number_32(const Fd& event);
/// read() of the event, into enough room and into too little.
void count_of(const Fd& event);
/// epoll_wait() for the event.
void wait_for(const Fd& event);

/// A kprobe in getpgid with a period, which the kernel alone knows.
perf_event_attr with_period(uint64_t offset, uint64_t period);
/// perf_event_open() on CPU 0.
Fd open_as_told(perf_event_attr attr, pid_t task);

constexpr uint64_t kJumpLength = 5;

/// djprobe makes a jump of an int3 after a quiescence.
void wait_for_jump();

/// The first place in getpgid from `offset` on where an instruction begins, and before `end`.
std::optional<uint64_t> find_offset(uint64_t offset, uint64_t end);

/// Probes with options that only the kernel has, in groups, pinned: at one place with others.
void beside(const Seen& seen);
/// What --strict forbids, and beside each what the kernel refuses anyway.
void forbidden(const Seen& seen);
/// Second links of an event that has one, which is pinned, or whose event leads a group.
void linked_twice(const Seen& seen);
/// A probe of a function that ftrace does not trace: of perf's events it can have none.
void untraced(const Seen& seen);
/// A probe, and an event of the kernel's alone within its bytes that the kernel refuses.
void beside_none(const Seen& seen);
/// The same event all the time while the probe's jump comes.
void beside_coming(const Seen& seen);

}  // namespace djprobe::vm
