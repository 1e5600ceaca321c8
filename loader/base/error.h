// SPDX-License-Identifier: GPL-2.0
// The one exception of probeload: a line for the user and the exit status that goes with it.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "base/exit_code.h"

namespace djprobe::loader {

/// Carries what was wrong, where, and what to do. what() may hold more lines (a verifier log), the
/// first of which is a sentence by itself.
class Error : public std::runtime_error {
  public:
    Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    [[nodiscard]] ExitCode code() const noexcept { return code_; }

  private:
    ExitCode code_;
};

template <typename... Args>
[[noreturn]] void fail(ExitCode code, fmt::format_string<Args...> format, Args&&... args) {
    throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace djprobe::loader
