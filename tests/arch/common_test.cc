// SPDX-License-Identifier: GPL-2.0
// The short cut for common instructions says what the whole decoder says.
#include "arch/x86/insn/common.h"

#include <gtest/gtest.h>

#include <random>

#include "support/same_insn.h"

namespace djprobe::x86 {
namespace {

constexpr u64 kAddress = 0xffffffff81234567;

/// Returns whether the short cut takes it.
bool compare(Span<const u8> bytes) {
    Insn common;
    if (!decode_common(bytes, kAddress, common)) return false;
    EXPECT_TRUE(test::is_short_cut_right(bytes, kAddress)) << test::hex(bytes);
    // One that ends too early is not taken.
    Insn cut;
    for (size_t length = 0; length < common.length; ++length)
        EXPECT_FALSE(decode_common(bytes.first(length), kAddress, cut))
            << test::hex(bytes) << length;
    return true;
}

constexpr unsigned int kPrefixes = 52, kOpcodes = 512;

/// Prefixes: none, gs, an operand size, each with each REX, and one that the short cut must not
/// take. Behind the opcode there is noise. Returns where that begins.
size_t begin(unsigned int prefix, unsigned int opcode, std::mt19937_64& random,
             u8 (&bytes)[kMaxInsnLength]) {
    for (u8& byte : bytes)
        byte = static_cast<u8>(random());
    size_t at = 0;
    constexpr u8 kBefore[] = {0, 0x65, 0x66, 0xf0};
    if (prefix >= 17) bytes[at++] = kBefore[prefix / 17];
    if (prefix % 17) bytes[at++] = static_cast<u8>(0x40 + prefix % 17 - 1);
    if (opcode >= 256) bytes[at++] = 0x0f;
    bytes[at++] = static_cast<u8>(opcode);
    return at;
}

TEST(CommonTest, SaysWhatTheWholeDecoderSays) {
    std::mt19937_64 random(1);
    size_t taken = 0;
    u8 bytes[kMaxInsnLength];
    for (unsigned int prefix = 0; prefix < kPrefixes; ++prefix)
        for (unsigned int opcode = 0; opcode < kOpcodes; ++opcode)
            for (unsigned int modrm = 0; modrm < 256 && !::testing::Test::HasFailure(); ++modrm) {
                const size_t at = begin(prefix, opcode, random, bytes);
                bytes[at] = static_cast<u8>(modrm);
                taken += compare({bytes, sizeof bytes});
            }
    EXPECT_GT(taken, 1'000'000u) << "it saves nothing";
}

TEST(CommonTest, SaysTheSameOfEachSib) {
    std::mt19937_64 random(3);
    u8 bytes[kMaxInsnLength];
    for (unsigned int prefix = 0; prefix < kPrefixes; ++prefix)
        for (unsigned int opcode = 0; opcode < kOpcodes; ++opcode)
            for (unsigned int sib = 0; sib < 3 * 256 && !::testing::Test::HasFailure(); ++sib) {
                const size_t at = begin(prefix, opcode, random, bytes);
                // Some opcodes are common with 0 only.
                const u8 reg = random() % 2 ? 0 : random() % 8;
                bytes[at] = static_cast<u8>(sib / 256 << 6 | reg << 3 | 4);
                bytes[at + 1] = static_cast<u8>(sib);
                (void)compare({bytes, sizeof bytes});
            }
}

TEST(CommonTest, KnowsWhereFunctionsBegin) {
    const u8 endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    EXPECT_TRUE(compare({endbr64, sizeof endbr64}));
}

TEST(CommonTest, KnowsThePaddingBetweenFunctions) {
    std::mt19937_64 random(4);
    size_t taken = 0;
    for (int i = 0; i < 300'000 && !::testing::Test::HasFailure(); ++i) {
        u8 bytes[kMaxInsnLength];
        for (u8& byte : bytes)
            byte = static_cast<u8>(random());
        size_t at = 0;
        for (size_t prefixes = 1 + random() % 9; at < prefixes; ++at)
            bytes[at] = random() % 3 ? 0x66 : 0x2e;
        if (random() % 4) {
            bytes[at] = 0x0f;
            bytes[at + 1] = 0x1f;
            bytes[at + 2] &= random() % 4 ? 0xc7 : 0xff;
        } else {
            bytes[at] = 0x90;
        }
        taken += compare({bytes, sizeof bytes});
    }
    EXPECT_GT(taken, 100'000u) << "it saves nothing";
    const u8 longest[] = {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f,
                          0x1f, 0x84, 0,    0,    0,    0,    0};
    EXPECT_TRUE(compare({longest, sizeof longest}));
}

TEST(CommonTest, LeavesEmulatedInstructionsToTheWholeDecoder) {
    const u8 bug[] = {0x0f, 0x0b, 0x49, 0xc7, 0xc5};
    EXPECT_TRUE(compare({bug, sizeof bug}));
    const u8 xen[] = {0x0f, 0x0b, 'x', 'e', 'n', 0x0f, 0xa2};
    const u8 kvm[] = {0x0f, 0x0b, 'k', 'v', 'm', 0x0f, 0xa2};
    EXPECT_FALSE(compare({xen, sizeof xen}));
    EXPECT_FALSE(compare({kvm, sizeof kvm}));
}

TEST(CommonTest, SaysTheSameOfRandomBytes) {
    std::mt19937_64 random(2);
    u8 bytes[kMaxInsnLength];
    for (int i = 0; i < 3'000'000 && !::testing::Test::HasFailure(); ++i) {
        for (u8& byte : bytes)
            byte = static_cast<u8>(random());
        (void)compare({bytes, 1 + random() % sizeof bytes});
    }
}

}  // namespace
}  // namespace djprobe::x86
