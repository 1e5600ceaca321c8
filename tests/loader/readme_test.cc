// SPDX-License-Identifier: GPL-2.0
// The first handler that a reader copies from README.md.
#include <gtest/gtest.h>

#include <iterator>

#include "decode/record_type.h"
#include "object/object.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

/// The ```c blocks of README.md.
std::vector<std::string> blocks_of_c() {
    std::ifstream file(DJPROBE_README);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string begin = "\n```c\n", end = "\n```\n";
    std::vector<std::string> blocks;
    for (std::size_t at = text.find(begin); at != text.npos; at = text.find(begin, at)) {
        at += begin.size();
        blocks.push_back(text.substr(at, text.find(end, at) + 1 - at));
    }
    return blocks;
}

TEST(Readme, hello_compiles_and_says_where_and_what) {
    if (!std::filesystem::exists("/sys/kernel/btf/vmlinux")) GTEST_SKIP() << "no kernel BTF";
    const std::vector<std::string> blocks = blocks_of_c();
    ASSERT_EQ(blocks.size(), 1U);
    const Files files;
    const Object object = Object::open(files.write("hello.bpf.c", blocks.front()), false);
    const std::vector<Program> programs = object.programs();
    ASSERT_EQ(programs.size(), 1U);
    EXPECT_EQ(programs.front().section, "kprobe/vfs_write");
    // Its records are shown by field, and what did not fit is counted.
    const auto record = find_record_type(object.types(), "events", false);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->name, "event");
    EXPECT_GT(btf__find_by_name_kind(object.types(), "lost", BTF_KIND_VAR), 0);
}

}  // namespace
}  // namespace djprobe::loader
