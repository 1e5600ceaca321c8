// SPDX-License-Identifier: GPL-2.0
// Whether the compiler has made jump tables, by looking.
#pragma once

#include "../../arch/x86/insn/types.h"

namespace djprobe::kmod {

/// Whether any instruction of `text`, all of it readable, jumps through a table. The options that a
/// kernel was configured with promise that none does, but neither a later compiler nor whoever has
/// built a module need keep that promise. One pass; takes the text lock.
bool has_jump_tables(Range text);

}  // namespace djprobe::kmod
