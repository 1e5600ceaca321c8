// SPDX-License-Identifier: GPL-2.0
// Counters of actions, near and far.
#pragma once

#include <cstddef>

#include "arch/x86/insn/types.h"

namespace djprobe::test {

/// Counters that lie where a displacement from %gs reaches, where it does not, or partly.
enum class Reach { Near, Far, Edge };

/// How many there are of each kind.
inline constexpr size_t kListCounters = 80;

u64* counters_at(Reach reach);
/// Others, for the list of this number from 1 on.
u64* more_counters_at(Reach reach, size_t list);

}  // namespace djprobe::test
