// SPDX-License-Identifier: GPL-2.0
// Messages for people, to stderr. A reader that is gone does not stop the loader.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

namespace djprobe::loader {

/// Writes all of it, unless stderr is closed or its reader has gone: that stops no work.
void write_stderr(std::string_view text) noexcept;

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
    write_stderr(fmt::format(format, std::forward<Args>(args)...));
}

/// What this thread says while it lives is kept here, and not written: stderr is an application's.
class KeptWords {
  public:
    KeptWords();
    ~KeptWords();
    KeptWords(const KeptWords&) = delete;
    KeptWords& operator=(const KeptWords&) = delete;

    [[nodiscard]] const std::string& text() const noexcept { return text_; }

  private:
    std::string text_;
    std::string* outer_;
};

}  // namespace djprobe::loader
