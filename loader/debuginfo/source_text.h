// SPDX-License-Identifier: GPL-2.0
// The text of source lines, from where the user keeps the source.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace djprobe::loader {

class SourceText {
  public:
    /// Below this folder; without one nothing is found. Throws Error(kBadFile): it is none.
    explicit SourceText(const std::optional<std::string>& folder);

    /// Where the file lies that the debug information names so: the build's own folders give way to
    /// ours. Nothing: it is not there.
    [[nodiscard]] std::optional<std::string> find(const std::string& file) const;
    /// A line of it, or "".
    [[nodiscard]] std::string line(const std::string& file, unsigned number);

  private:
    std::optional<std::string> folder_;
    std::map<std::string, std::vector<std::string>> files_;  // those that were read
};

}  // namespace djprobe::loader
