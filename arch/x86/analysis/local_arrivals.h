// SPDX-License-Identifier: GPL-2.0
// How control arrives in the middle of a function by its own instructions and its neighbours'. For
// branches from anywhere in the text see far_arrivals.h.
#pragma once

#include "snapshot.h"

namespace djprobe::x86 {

/// Refuse when a direct branch in `code` lands in `targets`, or when some bytes could be one and
/// `code` cannot be decoded.
Refusal find_branch_into(const Code& code, Range targets);

/// Refuse when the snapshot's function has an indirect jump that may lead anywhere within it.
Refusal find_indirect_jump(const Snapshot& snapshot);

}  // namespace djprobe::x86
