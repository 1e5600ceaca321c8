// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include <string>
#include <system_error>

#include "run/tool.h"

namespace djprobe::loader {
namespace {

TEST(RunTool, name_that_cannot_be_run_stays_in_its_line) {
    try {
        Tool::start({"no such\ntool"}, Filter::kNone);
        FAIL() << "it runs";
    } catch (const std::system_error& error) {
        EXPECT_EQ(std::string(error.what()), "no such\\x0atool: No such file or directory");
    }
}

}  // namespace
}  // namespace djprobe::loader
