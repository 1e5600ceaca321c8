// SPDX-License-Identifier: GPL-2.0
// Functions by a pattern of a shell.
#pragma once

#include <string>
#include <vector>

#include "kernel/kallsyms.h"

namespace djprobe::loader {

/// The functions whose name fits the pattern ("GLOB" for the kernel and its modules, "MODULE:GLOB"
/// for some), one for each address, by address. What only looks like a function is left out: the
/// padding before one (__pfx_NAME), the part of one that lies elsewhere (NAME.cold), BPF programs.
std::vector<Symbol> functions_like(const Kallsyms& kallsyms, const std::string& pattern);

}  // namespace djprobe::loader
