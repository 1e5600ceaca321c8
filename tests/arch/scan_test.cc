// SPDX-License-Identifier: GPL-2.0
#include "arch/x86/insn/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "support/printers.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::join;
using test::kText;
using test::view;
using testing::ElementsAre;

const Bytes kBody = CODE("push rbp; mov rbp, rsp; ret");  // at +0, +1, +4

Code code_at_text(const Bytes& bytes) {
    return {kText, view(bytes)};
}

TEST(ScanWalkTest, VisitsEveryInstructionUpToTheStop) {
    std::vector<u64> offsets;
    const auto visit = [&](const Insn& insn) {
        offsets.push_back(insn.address - kText);
        return true;
    };
    EXPECT_EQ(for_each_insn(code_at_text(kBody), kText + 4, visit), Refusal());
    EXPECT_THAT(offsets, ElementsAre(0, 1));
}

TEST(ScanWalkTest, StopsWhenTheVisitorHasEnough) {
    int visits = 0;
    EXPECT_EQ(for_each_insn(code_at_text(kBody), kText + 5,
                            [&](const Insn&) {
                                ++visits;
                                return false;
                            }),
              Refusal());
    EXPECT_EQ(visits, 1);
}

TEST(ScanWalkTest, NamesTheInstructionThatCannotBeDecoded) {
    const Bytes bytes = CODE("nop; .byte 0x06");
    EXPECT_EQ(for_each_insn(code_at_text(bytes), kText + 2, [](const Insn&) { return true; }),
              Refusal(Reason::UNSCANNABLE, kText + 1));
}

Boundary boundary(const Bytes& bytes, size_t offset) {
    Boundary found;
    EXPECT_EQ(find_boundary(code_at_text(bytes), kText + offset, found), Refusal());
    return found;
}

TEST(ScanBoundaryTest, AStartIsItsOwnBoundaryBefore) {
    EXPECT_EQ(boundary(kBody, 1).before, kText + 1);
    EXPECT_EQ(boundary(kBody, 1).after, kText + 4);
    EXPECT_TRUE(boundary(kBody, 1).is_start(kText + 1));
}

TEST(ScanBoundaryTest, InsideAnInstructionLiesBetweenTwo) {
    EXPECT_EQ(boundary(kBody, 3).before, kText + 1);
    EXPECT_EQ(boundary(kBody, 3).after, kText + 4);
    EXPECT_FALSE(boundary(kBody, 3).is_start(kText + 3));
}

TEST(ScanBoundaryTest, LastInstructionEndsAtTheFunctionsEnd) {
    EXPECT_EQ(boundary(kBody, 4).after, kText + 5);
}

/// Everything that for_each_insn() says.
std::vector<u64> visits(const Code& code, u64 stop) {
    std::vector<u64> addresses;
    const Refusal refusal = for_each_insn(code, stop, [&](const Insn& insn) {
        addresses.push_back(insn.address);
        addresses.push_back(insn.length);
        return true;
    });
    addresses.push_back(static_cast<u64>(refusal.reason));
    addresses.push_back(refusal.detail[0]);
    return addresses;
}

TEST(ScanDecodedTest, WhatHasBeenDecodedChangesNothing) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 300; ++round) {
        Bytes bytes(40);
        for (u8& byte : bytes)
            byte = static_cast<u8>(random());
        Code known = code_at_text(bytes);
        const Code plain = known;
        std::vector<Insn> insns(random() % 12);
        KnownInsns insns_known{{insns.data(), insns.size()}};
        known.known = &insns_known;
        for (u64 offset = 0; offset <= bytes.size(); ++offset) {
            EXPECT_EQ(visits(known, kText + offset), visits(plain, kText + offset));
            Insn expected, actual;
            const bool decodable = insn_at(plain, kText + offset, expected);
            ASSERT_EQ(insn_at(known, kText + offset, actual), decodable);
            EXPECT_EQ(actual.length, decodable ? expected.length : 0u);
            Boundary a, b;
            EXPECT_EQ(find_boundary(known, kText + offset, a),
                      find_boundary(plain, kText + offset, b));
            EXPECT_EQ(a.before, b.before);
        }
    }
}

size_t known_at_most(const Bytes& bytes, Span<Insn> room) {
    KnownInsns known{room};
    Code code = code_at_text(bytes);
    code.known = &known;
    while (know_more(code)) {
    }
    return known.count;
}

TEST(ScanDecodedTest, DecodingAheadStopsAtWhatIsNone) {
    Insn insns[8];
    const Bytes bytes = CODE("nop; nop; .byte 0x06; nop");
    EXPECT_EQ(known_at_most(bytes, insns), 2u);
    EXPECT_EQ(known_at_most(bytes, Span<Insn>(insns).first(1)), 1u);
    EXPECT_FALSE(know_more(code_at_text(bytes))) << "without room";
}

TEST(ScanDecodedTest, DecodesNoFartherThanAsked) {
    Insn insns[8];
    KnownInsns known{insns};
    const Bytes bytes = CODE("nop; nop; nop; nop");
    Code code = code_at_text(bytes);
    code.known = &known;
    Boundary boundary;
    ASSERT_FALSE(find_boundary(code, kText + 1, boundary));
    EXPECT_EQ(known.count, 2u);
}

Range replaced(const Bytes& bytes, size_t site) {
    const Range range = replaced_bytes(code_at_text(bytes), kText + site);
    return {range.begin - kText, range.end - kText};
}

TEST(ScanReplacedTest, EndsWithTheInstructionThatCoversTheJump) {
    const Bytes code = CODE("push rbp; mov rbp, rsp; mov eax, 0x12345678; ret");  // +0, +1, +4
    EXPECT_EQ(replaced(code, 0).begin, 1u);
    EXPECT_EQ(replaced(code, 0).end, 9u);
    EXPECT_EQ(replaced(code, 4).end, 9u);
}

TEST(ScanReplacedTest, IsAtLeastTheJump) {
    EXPECT_EQ(replaced(CODE("ret"), 0).end, 5u);
    EXPECT_EQ(replaced(CODE("nop; .byte 0x06"), 0).end, 5u);
    EXPECT_EQ(replaced(kBody, 100).end, 105u);
}

u64 end_offset(const Bytes& bytes) {
    return real_end(code_at_text(bytes)) - kText;
}

TEST(ScanEndTest, FunctionWithoutPadding) {
    EXPECT_EQ(end_offset(kBody), 5u);
}

TEST(ScanEndTest, Int3NopsAndZerosArePadding) {
    EXPECT_EQ(end_offset(join(kBody, CODE("int3; int3"))), 5u);
    EXPECT_EQ(end_offset(join(kBody, CODE("nop; nop word ptr [rax + rax + 0]"))), 5u);
    EXPECT_EQ(end_offset(join(kBody, Bytes(4, 0))), 5u);
}

// Kernel commits 63dc6325ff41, 1993bf97992d: an int3 behind a return ended the search.
TEST(ScanEndTest, PaddingBetweenInstructionsIsInside) {
    EXPECT_EQ(end_offset(join(kBody, CODE("int3; nop; ret; int3"))), 8u);
}

// What fills a module's last page begins wherever its code ends, half an instruction may be left.
TEST(ScanEndTest, ZerosUpToTheEndArePaddingWhateverTheirNumber) {
    EXPECT_EQ(end_offset(join(kBody, Bytes(3, 0))), 5u);
    EXPECT_EQ(end_offset(join(kBody, Bytes(1, 0))), 5u);
}

TEST(ScanEndTest, PaddingThatCannotBeDecodedCountsAsCode) {
    EXPECT_EQ(end_offset(join(kBody, Bytes{0, 0, 0x0f})), 8u);
}

}  // namespace
}  // namespace djprobe::x86
