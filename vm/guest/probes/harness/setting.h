// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <fstream>

namespace djprobe::vm {

/// A number in a file of /proc or /sys, changed until this ends.
class Setting {
  public:
    Setting(const char* file, unsigned value) : file_(file) {
        std::ifstream(file_) >> before_;
        std::ofstream(file_) << value;
    }
    ~Setting() { std::ofstream(file_) << before_; }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

  private:
    const char* file_;
    unsigned before_ = 0;
};

}  // namespace djprobe::vm
