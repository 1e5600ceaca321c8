// SPDX-License-Identifier: GPL-2.0
// The registers of x86-64, as expressions name them and as a program reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/translate.h"

namespace djprobe::loader {

/// "rdi", "r10", and "edi", "r10d" for the lower half, as `probeload hist` names them.
std::vector<Name> register_names(const Types& types);
/// "ctx->di", by the register's number in DWARF; "" for what is no general register.
std::string register_by_dwarf(unsigned number);

}  // namespace djprobe::loader
