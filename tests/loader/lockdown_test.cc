// SPDX-License-Identifier: GPL-2.0
#include "kernel/lockdown.h"

#include <gtest/gtest.h>

#include "temp_file.h"

namespace djprobe::loader {
namespace {

TEST(Lockdown, is_the_word_in_brackets) {
    const Files files;
    const auto is = [&](const char* line) {
        return is_confidential(files.write("lockdown", line).c_str());
    };
    EXPECT_TRUE(is("none integrity [confidentiality]\n"));
    EXPECT_FALSE(is("none [integrity] confidentiality\n"));
    EXPECT_FALSE(is("[none] integrity confidentiality\n"));
    EXPECT_FALSE(is_confidential("/nonexistent")) << "securityfs is not mounted";
}

}  // namespace
}  // namespace djprobe::loader
