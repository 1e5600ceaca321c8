// SPDX-License-Identifier: GPL-2.0
// Stacks in what programs keep, and names for their frames.
#include <linux/bpf.h>
#include <unistd.h>

#include "btf_builder.h"
#include "decode/stack_fields.h"
#include "events/folded.h"
#include "events/stack_names.h"
#include "object/object.h"

namespace djprobe::loader {
namespace {

class Named : public FrameNames {
  public:
    std::string full(const Frame& frame, std::uint32_t process) override {
        return fmt::format("{:#x}\"of {}", frame.address, process);
    }
    std::string function(const Frame&, std::uint32_t) override { return ""; }
};

class Stacks : public testing::Test {
  protected:
    void SetUp() override {
        const int u32 = btf_.u32(), u64 = btf_.u64(), stack = btf_.array(u64, 3);
        event_ = static_cast<std::uint32_t>(btf_.structure("event", 40));
        btf_.member("pid", u32, 0);
        btf_.member("size", u32, 4);
        btf_.member("kern_stack", stack, 8);
        btf_.member("user_stack_size", u64, 32);
    }
    std::string print(Format format, FrameNames* names) {
        Formatter formatter(DecodePlan::compile(*btf_, event_, format), names);
        const Record record = Record(40).put(0, 42U).put(8, 0xffffffff81000000).put(16, 16UL);
        Buffer out;
        formatter.append(out, record.bytes());
        return {out.data(), out.size()};
    }

    BtfBuilder btf_;
    std::uint32_t event_ = 0;
};

TEST_F(Stacks, names_stand_for_addresses_up_to_the_first_zero) {
    Named names;
    EXPECT_EQ(print(Format::kText, &names),
              "pid=42 size=0 kern_stack=[0xffffffff81000000\"of 42, 0x10\"of 42] "
              "user_stack_size=0");
    EXPECT_EQ(nlohmann::json::parse(print(Format::kJson, &names))["kern_stack"][1], "0x10\"of 42");
    EXPECT_EQ(print(Format::kText, nullptr),
              "pid=42 size=0 kern_stack=[0xffffffff81000000, 0x10] user_stack_size=0");
}

TEST_F(Stacks, fields_by_their_names) {
    const StackFields fields = stack_fields_of(*btf_, event_, "");
    ASSERT_EQ(fields.stacks.size(), 1U);
    EXPECT_EQ(fields.stacks[0].offset, 8U);
    EXPECT_EQ(fields.stacks[0].size, 24U);
    EXPECT_TRUE(fields.ids.empty());
    ASSERT_TRUE(fields.process);
    EXPECT_EQ(fields.process->offset, 0U);
    EXPECT_FALSE(fields.count);
}

class NamedByAnybody : public FrameNames {
  public:
    std::string full(const Frame&, std::uint32_t) override { return ""; }
    std::string function(const Frame&, std::uint32_t) override { return "f;g\nh 7"; }
};

TEST_F(Stacks, folded_are_a_line_each_whatever_tasks_and_functions_are_called) {
    const int comm = btf_.array(btf_.character(), 16), stack = btf_.array(btf_.u64(), 1);
    const auto named = static_cast<std::uint32_t>(btf_.structure("named", 24));
    btf_.member("comm", comm, 0);
    btf_.member("kern_stack", stack, 16);
    const Object object = Object::open(DJPROBE_BPF_DIR "/count.bpf.o", false);
    NamedByAnybody names;
    FoldedStacks folded(object.handle(), names);
    const Record record = Record(24).put_text(0, "a;b\nc\td 5").put(16, 0xffffffff81000000);
    folded.add(stack_fields_of(*btf_, named, ""), record.bytes());
    const std::map<std::string, std::uint64_t> expected = {{R"(a:b\x0ac\x09d 5;f:g\x0ah 7)", 1}};
    EXPECT_EQ(folded.all(), expected);
}

TEST(StackFieldsTest, a_number_is_that_of_a_stack_by_its_own_name_or_its_maps) {
    BtfBuilder btf;
    const auto number = static_cast<std::uint32_t>(btf.s32());
    EXPECT_EQ(stack_fields_of(*btf, number, "by_stack").ids.size(), 1U);
    EXPECT_TRUE(stack_fields_of(*btf, number, "counts").ids.empty());
    EXPECT_TRUE(stack_fields_of(*btf, number, "counts").count);
}

TEST(FramesTest, by_builds) {
    bpf_stack_build_id builds[3] = {};
    builds[0].status = BPF_STACK_BUILD_ID_VALID;
    builds[0].build_id[0] = 7;
    builds[0].offset = 0x123;
    builds[1].status = BPF_STACK_BUILD_ID_IP;
    builds[1].ip = 0x456;
    const auto frames = frames_in(StackKind::kBuildIds, std::as_bytes(std::span(builds)));
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(frames[0].build_id, std::string("\7") + std::string(19, '\0'));
    EXPECT_EQ(frames[0].offset, 0x123U);
    EXPECT_TRUE(frames[1].build_id.empty());
    EXPECT_EQ(frames[1].address, 0x456U);
}

extern "C" __attribute__((noinline, used)) int djprobe_stacks_test_function(int x) {
    return x + 1;
}

TEST(StackNamesTest, of_this_process_and_by_its_build) {
    Symbolizer symbolizer(Kallsyms::parse("ffffffff81000000 T vfs_read\n"));
    const auto self = static_cast<std::uint32_t>(getpid());
    StackNames names(symbolizer, self);
    const Frame frame{.address =
                          reinterpret_cast<std::uint64_t>(&djprobe_stacks_test_function) + 1};
    EXPECT_EQ(names.function(frame, 0), "djprobe_stacks_test_function");
    const std::string full = names.full(frame, self);
    EXPECT_EQ(full.rfind("djprobe_stacks_test_function+0x1 (/", 0), 0U) << full;
    EXPECT_NE(full.find("/loader_tests build-id "), std::string::npos) << full;
    EXPECT_EQ(names.full({.address = 0xffffffff81000010}, 0), "vfs_read+0x10");
    EXPECT_EQ(names.function({.address = 0xffffffff81000010}, 0), "vfs_read");
    EXPECT_EQ(names.full({.address = 0x10}, self), "0x10");
    EXPECT_EQ(names.function({.address = 0x10}, self), "[unknown]");

    UserCode code;
    const CodePlace place = code.find(self, frame.address);
    std::string build = place.build_id;
    build.resize(20);
    const CodePlace same = code.find(build, place.offset);
    EXPECT_EQ(same.function, "djprobe_stacks_test_function");
    EXPECT_EQ(same.path, place.path);
    EXPECT_EQ(describe(code.find(std::string(20, '\1'), 0x10)),
              "+0x10 (build-id 0101010101010101010101010101010101010101)");
}

}  // namespace
}  // namespace djprobe::loader
