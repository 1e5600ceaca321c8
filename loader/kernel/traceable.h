// SPDX-License-Identifier: GPL-2.0
// Which functions the kernel's function tracer can watch: those that kprobe.multi takes.
#pragma once

#include <string>
#include <vector>

#include "kernel/symbolizer.h"

namespace djprobe::loader {

/// The addresses of those like the pattern, which is as for functions_like(). A name that several
/// functions have is left out, unless all of them can be watched. Throws Error: kNoSuchSite,
/// kRefusedSite, kNoPermission.
std::vector<unsigned long> traceable_like(Symbolizer& symbolizer, const std::string& pattern);

/// The same for a list as available_filter_functions has it: "NAME" or "NAME [MODULE]" a line.
std::vector<unsigned long> traceable_of(const std::vector<Symbol>& functions,
                                        const std::string& available);

}  // namespace djprobe::loader
