// SPDX-License-Identifier: GPL-2.0
// The text of a program, line by line, indented.
#pragma once

#include <string>
#include <string_view>

namespace djprobe::loader {

class ProgramText {
  public:
    /// A text of one or more lines, or "" for an empty one. What ends in { indents the lines
    /// behind it, and what begins with } ends that.
    void line(std::string_view lines);
    [[nodiscard]] const std::string& str() const { return text_; }

  private:
    std::string text_;
    int depth_ = 0;
};

/// A text as C writes it between double quotes.
std::string c_string(std::string_view text);

}  // namespace djprobe::loader
