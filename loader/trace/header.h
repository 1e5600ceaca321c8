// SPDX-License-Identifier: GPL-2.0
// The part of vmlinux.h that a trace's program needs: the whole takes clang long.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "trace/types.h"

namespace djprobe::loader {

/// With what libbpf's headers need, too.
std::string trace_header(const Types& types, const std::set<TypeId>& wanted);

/// clang's options for programs of these types: the sign of the kernel's `char`.
std::vector<std::string> trace_flags(const Types& types);

}  // namespace djprobe::loader
