// SPDX-License-Identifier: GPL-2.0
// Files for one test.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/temp_dir.h"

namespace djprobe::loader {

class Files {
  public:
    std::filesystem::path write(const char* name, std::string_view content) const {
        const std::filesystem::path path = directory_.path() / name;
        std::ofstream(path, std::ios::binary) << content;
        return path;
    }
    [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }

  private:
    TempDir directory_;
};

}  // namespace djprobe::loader
