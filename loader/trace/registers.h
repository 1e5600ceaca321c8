// SPDX-License-Identifier: GPL-2.0
// Registers, as expressions name them and as a program reads them.
#pragma once

#include <vector>

#include "trace/translate.h"

namespace djprobe::loader {

/// "rdi", "r10", and "edi", "r10d" for the lower half, as `probeload hist` names them.
std::vector<Name> register_names(const Types& types);

}  // namespace djprobe::loader
