// SPDX-License-Identifier: GPL-2.0
// How control arrives in the middle of a function by its own instructions and its neighbours'. For
// branches from anywhere in the text see far_arrivals.h.
#pragma once

#include "snapshot.h"

namespace djprobe::x86 {

/// BRANCH_INTO_REGION when a direct branch in `code` lands in `targets`; UNSCANNABLE when some
/// bytes could be such a branch and `code` cannot be decoded. Pure.
Refusal find_branch_into(const Code& code, Range targets);

/// Whether some bytes of `code` could be a direct branch into `targets` with one byte of
/// displacement. Pure.
bool may_branch_short(const Code& code, Range targets);

/// Set the bit of each byte of `code` to which one of its direct branches leads. False: not all of
/// it is in code.known, or it has more bytes than there are bits. Pure.
bool find_targets(const Code& code, Span<u64> bits);

/// INDIRECT_JUMP when the snapshot's function has an indirect jump that may lead anywhere within
/// it; UNSCANNABLE when that cannot be known. Pure.
Refusal find_indirect_jump(const Snapshot& snapshot);

}  // namespace djprobe::x86
