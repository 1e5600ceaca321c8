// SPDX-License-Identifier: GPL-2.0
// A directory for intermediate files that is gone when its owner is.
#pragma once

#include <filesystem>

namespace djprobe::loader {

class TempDir {
  public:
    /// Throws Error when no directory can be made in $TMPDIR or /tmp.
    TempDir();
    ~TempDir();
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace djprobe::loader
