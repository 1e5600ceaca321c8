// SPDX-License-Identifier: GPL-2.0
// Options whose value is a whole number.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cli/checks.h"
#include "kernel/site_spec.h"

namespace djprobe::loader {

/// The kernel's PID_MAX_LIMIT.
inline constexpr std::uint64_t kMostTasks = 4'194'304;

/// Decimal, whatever zeros it begins with (CLI11 itself would take it for octal), or
/// 0x-hexadecimal.
template <typename Number>
CLI::Option* add_number(CLI::App& command, const char* name, Number& value, const char* about,
                        std::uint64_t least, std::uint64_t most) {
    return command
        .add_option_function<std::string>(
            name,
            [&value](const std::string& text) {
                value = static_cast<Number>(parse_unsigned(text).value());
            },
            about)
        ->type_name("N")
        ->check(whole_number(least, most));
}

}  // namespace djprobe::loader
