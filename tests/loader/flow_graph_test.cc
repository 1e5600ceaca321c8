// SPDX-License-Identifier: GPL-2.0
#include "blocks/flow_graph.h"

#include <gmock/gmock.h>

#include <vector>

namespace djprobe::loader {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr u64 kStart = 0x1000;

struct Function {
    std::vector<u8> bytes;
    FlowFacts facts{};

    std::vector<Block> blocks(Refusal& refused) {
        facts.parts.insert(facts.parts.begin(), Code{kStart, {bytes.data(), bytes.size()}});
        return find_blocks(facts, refused);
    }
    std::vector<Block> blocks() {
        Refusal refused;
        std::vector<Block> found = blocks(refused);
        EXPECT_FALSE(refused) << reason_name(refused.reason);
        return found;
    }
};

std::vector<u64> begins(const std::vector<Block>& blocks) {
    std::vector<u64> begins;
    for (const Block& block : blocks)
        begins.push_back(block.range.begin - kStart);
    return begins;
}

TEST(FlowGraph, ABranchHasTwoSuccessorsWhichMeetAgain) {
    // test; je 4; nop; 4: ret
    Function function{{0x85, 0xc0, 0x74, 0x01, 0x50, 0xc3}};
    const auto blocks = function.blocks();
    ASSERT_THAT(begins(blocks), ElementsAre(0, 4, 5));
    EXPECT_THAT(blocks[0].next, ElementsAre(2, 1));
    EXPECT_THAT(blocks[1].next, ElementsAre(2));
    EXPECT_THAT(blocks[2].next, IsEmpty());
    EXPECT_TRUE(blocks[0].arrives && !blocks[0].leaves);
    EXPECT_TRUE(!blocks[1].arrives && !blocks[1].leaves);
    EXPECT_TRUE(!blocks[2].arrives && blocks[2].leaves);
}

TEST(FlowGraph, PaddingBehindAReturnIsNoBlock) {
    // je 4; ret; int3; 4: nopl; ret
    Function function{{0x74, 0x02, 0xc3, 0xcc, 0x0f, 0x1f, 0x00, 0xc3}};
    EXPECT_THAT(begins(function.blocks()), ElementsAre(0, 2, 4));
}

TEST(FlowGraph, ACallThatMayNotReturnLeavesWhereControlAlsoComesFromElsewhere) {
    // je 8; call outside; nop; 8: ret
    Function function{{0x74, 0x06, 0xe8, 0, 1, 0, 0, 0x90, 0xc3}};
    const auto blocks = function.blocks();
    ASSERT_THAT(begins(blocks), ElementsAre(0, 2, 8));
    EXPECT_TRUE(blocks[1].leaves);
    EXPECT_THAT(blocks[1].next, ElementsAre(2));
    // push; call outside; pop; ret
    Function plain{{0x50, 0xe8, 0, 1, 0, 0, 0x58, 0xc3}};
    EXPECT_THAT(begins(plain.blocks()), ElementsAre(0));
}

TEST(FlowGraph, ACallThatReturnsDoesNotLeave) {
    // je 8; call outside; nop; 8: ret
    Function function{{0x74, 0x06, 0xe8, 0, 1, 0, 0, 0x90, 0xc3}};
    function.facts.returning = {kStart + 2};
    EXPECT_FALSE(function.blocks()[1].leaves);
}

TEST(FlowGraph, ACallBeforeAJumpLabelReturnsToIt) {
    // je 8; call outside; label at 7, a nop while it is off; 8: ret
    Function function{{0x74, 0x06, 0xe8, 0, 1, 0, 0, 0x90, 0xc3}};
    function.facts.landings = {{Reason::LABEL_INTO_REGION, kStart + 7, kStart + 8}};
    EXPECT_FALSE(function.blocks()[1].leaves);
}

TEST(FlowGraph, AFaultEndsABlockAndItsFixupIsEntered) {
    // mov (%rax),%rax; push; ret; fixup: pop; ret
    Function function{{0x48, 0x8b, 0x00, 0x50, 0xc3, 0x58, 0xc3}};
    function.facts.faults = {kStart};
    function.facts.landings = {{Reason::FIXUP_INTO_REGION, 0, kStart + 5}};
    const auto blocks = function.blocks();
    ASSERT_THAT(begins(blocks), ElementsAre(0, 3, 5));
    EXPECT_TRUE(blocks[0].leaves);
    EXPECT_THAT(blocks[0].next, ElementsAre(1));
    EXPECT_TRUE(blocks[2].arrives);
}

TEST(FlowGraph, AJumpLabelGoesBothWaysWhateverStandsThere) {
    // nop (2 bytes); push; ret; label: ret
    for (const std::vector<u8>& insn : {std::vector<u8>{0x66, 0x90}, {0xeb, 0x02}}) {
        Function function{{insn[0], insn[1], 0x50, 0xc3, 0xc3}};
        function.facts.landings = {{Reason::LABEL_INTO_REGION, kStart, kStart + 4}};
        const auto blocks = function.blocks();
        ASSERT_THAT(begins(blocks), ElementsAre(0, 2, 4));
        EXPECT_THAT(blocks[0].next, ElementsAre(2, 1));
        EXPECT_FALSE(blocks[2].arrives);
    }
}

TEST(FlowGraph, AJumpThatMayLeadAnywhereMakesEachBlockAnEntry) {
    // je 4; jmp *%rax; 4: ret
    Function function{{0x74, 0x02, 0xff, 0xe0, 0xc3}};
    function.facts.jumps_anywhere = true;
    for (const Block& block : function.blocks())
        EXPECT_TRUE(block.arrives);
}

TEST(FlowGraph, AColdPartBelongsToTheFunction) {
    // je cold; ret -- cold: push; jmp back to the ret
    Function function{{0x0f, 0x84, 0xfa, 0x0f, 0, 0, 0xc3}};
    const std::vector<u8> cold = {0x50, 0xe9, 0x00, 0xf0, 0xff, 0xff};
    function.facts.parts = {{kStart + 0x1000, {cold.data(), cold.size()}}};
    function.facts.landings = {{Reason::BRANCH_INTO_REGION, kStart, kStart + 0x1000}};
    const auto blocks = function.blocks();
    ASSERT_THAT(begins(blocks), ElementsAre(0, 6, 0x1000));
    EXPECT_THAT(blocks[0].next, ElementsAre(2, 1));
    EXPECT_THAT(blocks[2].next, ElementsAre(1));
    EXPECT_FALSE(blocks[2].arrives);
}

TEST(FlowGraph, WhatCannotBeDecodedOrIsPatchedIsRefused) {
    Refusal refused;
    Function bad{{0x50, 0x06, 0xc3}};
    EXPECT_THAT(bad.blocks(refused), IsEmpty());
    EXPECT_EQ(refused.reason, Reason::UNSCANNABLE);
    EXPECT_EQ(refused.detail[0], kStart + 1);
    Function patched{{0x50, 0xcc, 0xc3}};
    (void)patched.blocks(refused);
    EXPECT_EQ(refused.reason, Reason::FOREIGN_PATCH);
}

}  // namespace
}  // namespace djprobe::loader
