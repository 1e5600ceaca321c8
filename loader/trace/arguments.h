// SPDX-License-Identifier: GPL-2.0
// Where a function's arguments are when it begins.
#pragma once

#include <string>

#include "trace/types.h"

namespace djprobe::loader {

/// The argument's value in a program whose context is `ctx`: "(size_t)PT_REGS_PARM3(ctx)"; "" for
/// a struct that is passed itself, not by a pointer.
std::string argument_value(const Types& types, const Function& function, std::size_t index);

}  // namespace djprobe::loader
