// SPDX-License-Identifier: GPL-2.0
// A directory for intermediate files that is gone when its owner is.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/process.h"

namespace djprobe::loader {

/// One at a time; in an application's process, in each thread as many as it likes.
class TempDir {
  public:
    /// Throws Error when no directory can be made in $TMPDIR or /tmp.
    explicit TempDir(Process process = Process::kOurs);
    ~TempDir();
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    /// The path of a file to be made in it; of three at most.
    std::filesystem::path file(std::string_view name);
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// For an end of our process without destructors. Async-signal-safe.
    static void remove_all_at_once() noexcept;

  private:
    std::filesystem::path path_;
    Process process_;
};

}  // namespace djprobe::loader
