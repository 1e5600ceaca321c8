// SPDX-License-Identifier: GPL-2.0
#include "arch/x86/analysis/exits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/printers.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::kText;
using test::view;
using testing::ElementsAre;

// Places that code reaches as `771b + OFFSET`, 771 being its first byte. What has no name is
// neither compiled nor a part.
constexpr u64 kCompiled = kText + 0x1000, kPart = kText + 0x3000, kOtherPart = kText + 0x4000,
              kNowhere = kText + 0x5000;
constexpr Range kReturnThunks = {kText + 0x6000, kText + 0x6001};
constexpr Range kIndirectThunks = {kText + 0x7000, kText + 0x7201};

struct Symbols {
    bool start_of(u64 address, u64& start) const {
        start = address & ~0xffful;
        return start != kNowhere;
    }
    bool is_compiled(u64 start) const { return start == kCompiled; }
    bool is_part(u64 start) const { return start == kPart || start == kOtherPart; }
};

class ExitsTest : public testing::Test {
  protected:
    /// The exits that are any, in their order.
    std::vector<Exit> walk(u64 address, const Bytes& bytes) {
        std::vector<Exit> found;
        refusal_ = exits_.walk({address, view(bytes)}, [&](const Insn&, Exit exit) {
            if (exit != Exit::None) found.push_back(exit);
            return true;
        });
        return found;
    }
    std::vector<Exit> walk(const Bytes& bytes) { return walk(kText, bytes); }

    Exits<Symbols> exits_{{}, kReturnThunks, kIndirectThunks};
    Refusal refusal_;
};

TEST_F(ExitsTest, CallsAndBranchesWithinAreNone) {
    EXPECT_THAT(walk(CODE("1: call 771b + 0x1000; call rax; jz 1b; loop 1b; jmp 1b; nop; int3")),
                ElementsAre());
    EXPECT_EQ(exits_.part(), 0u);
}

TEST_F(ExitsTest, ReturnsWithAndWithoutThunk) {
    EXPECT_THAT(walk(CODE("ret; ret 8; jmp 771b + 0x6000")),
                ElementsAre(Exit::Return, Exit::Return, Exit::Return));
}

TEST_F(ExitsTest, ConditionalJumpToTheThunkIsNoReturn) {
    EXPECT_THAT(walk(CODE("jz 771b + 0x6000")), ElementsAre(Exit::TailCall));
}

TEST_F(ExitsTest, IndirectJumpsAreTailCalls) {
    EXPECT_THAT(walk(CODE("jmp rax; jmp 771b + 0x7000; jz 771b + 0x7200")),
                ElementsAre(Exit::TailCall, Exit::TailCall, Exit::TailCall));
}

TEST_F(ExitsTest, OnlyTheStartOfACompiledFunctionIsATailCall) {
    EXPECT_THAT(walk(CODE("jmp 771b + 0x1000; jmp 771b + 0x1001; jz 771b + 0x2000")),
                ElementsAre(Exit::TailCall, Exit::Unknown, Exit::Unknown));
    EXPECT_THAT(walk(CODE("jmp 771b + 0x5000")), ElementsAre(Exit::Unknown));
}

TEST_F(ExitsTest, ThereIsOnePart) {
    EXPECT_THAT(walk(CODE("jz 771b + 0x3010; jz 771b + 0x4000; jmp 771b + 0x3000")),
                ElementsAre(Exit::Part, Exit::Unknown, Exit::Part));
    EXPECT_EQ(exits_.part(), kPart);
    EXPECT_FALSE(exits_.in_part());
}

TEST_F(ExitsTest, FromThePartControlComesBack) {
    walk(CODE("jz 771b + 0x3000; ret"));
    EXPECT_THAT(walk(kPart, CODE("jz 771b - 0x3000; ret; jmp 771b - 0x2000; jmp 771b - 0x2ff8")),
                ElementsAre(Exit::Return, Exit::TailCall, Exit::Unknown));
    EXPECT_TRUE(exits_.in_part());
    EXPECT_EQ(exits_.part(), 0u);
}

TEST_F(ExitsTest, PartOfAPartIsToldAsOne) {
    walk(CODE("jmp 771b + 0x3000"));
    EXPECT_THAT(walk(kPart, CODE("jmp 771b + 0x1000")), ElementsAre(Exit::Part));
    EXPECT_TRUE(exits_.in_part());
}

TEST_F(ExitsTest, VisitorEndsTheWalk) {
    const Bytes bytes = CODE("ret; .byte 0x06");
    EXPECT_EQ(exits_.walk({kText, view(bytes)}, [](const Insn&, Exit) { return false; }),
              Refusal());
}

TEST_F(ExitsTest, UndecodableIsRefused) {
    EXPECT_THAT(walk(CODE("jmp rax; .byte 0x06; ret")), ElementsAre(Exit::TailCall));
    EXPECT_EQ(refusal_, Refusal(Reason::UNSCANNABLE, kText + 2));
}

}  // namespace
}  // namespace djprobe::x86
