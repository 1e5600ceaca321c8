// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "probe.h"

namespace djprobe::vm {

/// The module of hostile functions, which the script has loaded.
class HostileCaller {
  public:
    HostileCaller() : file_(open("/sys/kernel/debug/hostile/run", O_RDWR | O_CLOEXEC)) {}
    uint64_t operator()(size_t number, uint64_t argument) const {
        const std::string text = std::to_string(number) + " " + std::to_string(argument);
        uint64_t result = 0;
        EXPECT_EQ(pwrite(file_.get(), text.data(), text.size(), 0),
                  static_cast<ssize_t>(text.size()));
        EXPECT_EQ(pread(file_.get(), &result, sizeof result, 0),
                  static_cast<ssize_t>(sizeof result));
        return result;
    }

  private:
    Fd file_;
};

}  // namespace djprobe::vm
