// SPDX-License-Identifier: GPL-2.0
#include "cli/modes.h"

#include "base/error.h"

namespace djprobe::loader {

djprobe_mode parse_mode(std::string_view text) {
    if (text == "auto") return DJPROBE_MODE_AUTO;
    if (text == "int3") return DJPROBE_MODE_INT3;
    fail(ExitCode::kUsage, "--mode: '{}' is neither auto nor int3", text);
}

ReturnMode parse_return_mode(std::string_view text) {
    if (text == "auto") return ReturnMode::kAuto;
    if (text == "exact") return ReturnMode::kExact;
    if (text == "shadow") return ReturnMode::kShadow;
    fail(ExitCode::kUsage, "--ret-mode: '{}' is none of auto, exact, shadow", text);
}

}  // namespace djprobe::loader
