// SPDX-License-Identifier: GPL-2.0
// Where a function's arguments are when it begins.
#pragma once

#include <string>
#include <string_view>

#include "trace/types.h"

namespace djprobe::loader {

/// The argument's value in a program whose context is `ctx`: "(size_t)PT_REGS_PARM3(ctx)"; "" for
/// a struct that is passed itself, not by a pointer.
std::string argument_value(const Types& types, const Function& function, std::size_t index);
/// A number or pointer out of the register that `word` reads: "(bool)" of its lowest byte only.
std::string value_in_register(const Types& types, TypeId type, std::string_view word);

}  // namespace djprobe::loader
