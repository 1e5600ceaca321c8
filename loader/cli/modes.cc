// SPDX-License-Identifier: GPL-2.0
#include "cli/modes.h"

#include <CLI/CLI.hpp>

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

Backend parse_backend(std::string_view text) {
    if (text == "auto") return Backend::kAuto;
    if (text == "djprobe") return Backend::kDjprobe;
    if (text == "kernel") return Backend::kKernel;
    fail(ExitCode::kUsage, "--backend: '{}' is none of auto, djprobe, kernel", text);
}

void add_backend(CLI::App& command, Backend& backend) {
    command
        .add_option_function<std::string>(
            "--backend", [&backend](const std::string& text) { backend = parse_backend(text); },
            "auto: without the module, or where it refuses a place, the kernel's own kprobes "
            "(default); djprobe: that is an error; kernel: always those")
        ->type_name("auto|djprobe|kernel");
}

}  // namespace djprobe::loader
