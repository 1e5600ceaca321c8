// SPDX-License-Identifier: GPL-2.0
// Types of the source as BTF has them.
#pragma once

#include <optional>

#include "debuginfo/source_type.h"
#include "trace/types.h"

namespace djprobe::loader {

/// None where BTF does not have it. What is unknown behind a pointer is void.
std::optional<TypeId> find_type(Types& types, const SourceType& type);

}  // namespace djprobe::loader
