// SPDX-License-Identifier: GPL-2.0
// A directory for intermediate files that is gone when its owner is.
#pragma once

#include <filesystem>
#include <string_view>

namespace djprobe::loader {

/// One at a time.
class TempDir {
  public:
    /// Throws Error when no directory can be made in $TMPDIR or /tmp.
    TempDir();
    ~TempDir();
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    /// The path of a file to be made in it; of three at most.
    std::filesystem::path file(std::string_view name);
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// For an end of the process without destructors. Async-signal-safe.
    static void remove_all_at_once() noexcept;

  private:
    std::filesystem::path path_;
};

}  // namespace djprobe::loader
