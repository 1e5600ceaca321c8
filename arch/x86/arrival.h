// SPDX-License-Identifier: GPL-2.0
// How a function's own instructions may lead into the middle of it; for what comes from afar see
// landing.h.
#pragma once

#include "snapshot.h"

namespace djprobe::x86 {

/// Refuse when a direct branch in `code` lands in `targets`, or when some bytes could be one and
/// `code` cannot be decoded.
Refusal find_branch_into(const Code& code, Range targets);

/// Refuse when the snapshot's function has an indirect jump that may lead anywhere within it.
Refusal find_indirect_jump(const Snapshot& snapshot);

}  // namespace djprobe::x86
