// SPDX-License-Identifier: GPL-2.0
// Whether the compiler has made jump tables: found in the text itself.
#pragma once

#include "../../arch/x86/insn/types.h"

namespace djprobe::kmod {

/// Whether any instruction of `text`, all of it readable, jumps through a table. A kernel's
/// configuration may promise that none does, but a later compiler, or the builder of a module, need
/// not keep that promise. One pass; takes the text lock. True as well when memory is short.
bool has_jump_tables(Range text);

}  // namespace djprobe::kmod
