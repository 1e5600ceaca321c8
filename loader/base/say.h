// SPDX-License-Identifier: GPL-2.0
// Messages for people, to stderr. A reader that is gone does not stop the loader.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace djprobe::loader {

/// Writes all of it, unless stderr is closed or its reader has gone: that stops no work.
void write_stderr(std::string_view text) noexcept;

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
    write_stderr(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace djprobe::loader
