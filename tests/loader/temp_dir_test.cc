// SPDX-License-Identifier: GPL-2.0
#include "base/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace djprobe::loader {
namespace {

std::filesystem::path made(TempDir& directory, const std::string& name) {
    const std::filesystem::path path = directory.file(name);
    std::ofstream(path) << "text";
    return path;
}

TEST(TempDir, GoesWithAProcessThatEndsWithoutDestructors) {
    TempDir directory;
    made(directory, "a");
    TempDir::remove_all_at_once();
    EXPECT_FALSE(std::filesystem::exists(directory.path()));
}

// Two of its threads may ask a question at once, and one of our signals' handlers is not theirs.
TEST(TempDir, OfAnApplicationAreAsManyAsItLikes) {
    std::filesystem::path first_path, second_path;
    {
        TempDir first(Process::kCallers), second(Process::kCallers);
        first_path = first.path();
        second_path = second.path();
        for (int i = 0; i < 5; ++i) {
            made(first, std::to_string(i));
            made(second, std::to_string(i));
        }
        TempDir::remove_all_at_once();
        EXPECT_TRUE(std::filesystem::exists(first_path / "4"));
        EXPECT_TRUE(std::filesystem::exists(second_path / "4"));
    }
    EXPECT_FALSE(std::filesystem::exists(first_path));
    EXPECT_FALSE(std::filesystem::exists(second_path));
}

}  // namespace
}  // namespace djprobe::loader
