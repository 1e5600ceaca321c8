// SPDX-License-Identifier: GPL-2.0
// The names of probes whose module may have been unloaded, and its place taken by another one.
#pragma once

#include <vector>

#include "djprobe.h"
#include "kernel/kallsyms.h"

namespace djprobe::loader {

/// Gives each probe the name that its twin in `named` has; one without a twin keeps its own.
void copy_names(const std::vector<djprobe_query>& named, std::vector<djprobe_query>& probes);

/// Gives probes that are gone, or have no name, the names of the time when they were attached.
void name_gone(const Kallsyms& when_attached, std::vector<djprobe_query>& probes);

}  // namespace djprobe::loader
