// SPDX-License-Identifier: GPL-2.0
// The machine that is examined, as its files tell it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kernel/rights.h"

namespace djprobe::loader::doctor {

class Machine {
  public:
    /// The one that this process runs on.
    static Machine running();
    /// One whose files lie below `root`.
    Machine(std::filesystem::path root, std::string release, const Rights& rights)
        : root_(std::move(root)), release_(std::move(release)), rights_(rights) {}

    /// uname -r
    [[nodiscard]] const std::string& release() const { return release_; }
    [[nodiscard]] const Rights& rights() const { return rights_; }

    /// Where an absolute path lies.
    [[nodiscard]] std::filesystem::path at(std::string_view path) const;
    [[nodiscard]] bool has(std::string_view path) const;
    /// The whole file; nothing where it cannot be read.
    [[nodiscard]] std::optional<std::string> file(std::string_view path) const;
    /// A file's first line.
    [[nodiscard]] std::optional<std::string> line(std::string_view path) const;

  private:
    std::filesystem::path root_;
    std::string release_;
    Rights rights_;
};

}  // namespace djprobe::loader::doctor
