// SPDX-License-Identifier: GPL-2.0
// Which text takes no probe.
#pragma once

#include <vector>

#include "../../arch/x86/analysis/snapshot.h"
#include "survey/image.h"

namespace djprobe::loader {

/// noinstr, entry and NOKPROBE code, sorted by begin; ranges may nest. For the running kernel
/// debugfs lists the functions, in an image a section holds their addresses. Throws
/// Error when that is not there.
std::vector<Range> read_blacklist(const KernelImage& image);

/// What kmod/linux_names/fragile.h finds, sorted by begin. Throws Error when it is not known.
std::vector<Range> read_fragile(const KernelImage& image);

}  // namespace djprobe::loader
