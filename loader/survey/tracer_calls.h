// SPDX-License-Identifier: GPL-2.0
// The calls that ftrace writes into traced functions.
#pragma once

#include <cstdint>
#include <span>

#include "kernel/kallsyms.h"

namespace djprobe::loader {

/// Turns calls of tracers at the entries of functions back into nops, in a copy of the text at
/// `address`: the survey knows ftrace's places by these nops.
void undo_tracer_calls(const Kallsyms& symbols, std::uint64_t address,
                       std::span<std::uint8_t> text);

}  // namespace djprobe::loader
