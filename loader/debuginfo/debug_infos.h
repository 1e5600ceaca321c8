// SPDX-License-Identifier: GPL-2.0
// The debug information of the running kernel and its modules, each opened when it is asked for.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "debuginfo/source_lines.h"

namespace djprobe::loader {

class DebugInfos {
  public:
    /// As find_debug_file() looks for it; the kernel's _text lies at `text`.
    DebugInfos(std::optional<std::string> folder, std::uint64_t text)
        : folder_(std::move(folder)), text_(text) {}

    /// That of the kernel itself ("") or a module. Throws Error(kBadFile) where there is none.
    const SourceLines& of(const std::string& module);

  private:
    std::optional<std::string> folder_;
    std::uint64_t text_;
    std::map<std::string, SourceLines> opened_;
};

}  // namespace djprobe::loader
