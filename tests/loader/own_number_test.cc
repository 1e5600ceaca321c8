// SPDX-License-Identifier: GPL-2.0
#include "kernel/own_number.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/temp_dir.h"

namespace djprobe::loader {
namespace {

std::uint32_t first_of(const std::string& text) {
    TempDir directory;
    const std::filesystem::path path = directory.file("pid_max");
    std::ofstream(path) << text;
    return first_impossible_number(path.c_str());
}

TEST(OwnNumber, is_that_of_the_process_or_none) {
    EXPECT_EQ(own_number().value_or(getpid()), getpid());
}

TEST(OwnNumber, the_first_impossible_one_is_the_setting) {
    EXPECT_EQ(first_of("32768\n"), 32768U);
    EXPECT_EQ(first_of("4194304\n"), 4194304U);
}

TEST(OwnNumber, without_a_setting_it_is_the_kernels_own_limit) {
    EXPECT_EQ(first_impossible_number("/nonexistent"), 4194304U);
    EXPECT_EQ(first_of("none"), 4194304U);
    EXPECT_EQ(first_of("99999999"), 4194304U);
}

}  // namespace
}  // namespace djprobe::loader
