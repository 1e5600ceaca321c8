// SPDX-License-Identifier: GPL-2.0
// The words of --mode and --ret-mode.
#pragma once

#include <string_view>

#include "djprobe.h"
#include "kernel/return_mode.h"

namespace djprobe::loader {

/// Each throws Error(kUsage) for another word.
djprobe_mode parse_mode(std::string_view text);
ReturnMode parse_return_mode(std::string_view text);

}  // namespace djprobe::loader
