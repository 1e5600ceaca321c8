// SPDX-License-Identifier: GPL-2.0
// The short cut for common instructions says what the whole decoder says.
#include "arch/x86/insn/common.h"

#include <gtest/gtest.h>

#include <random>

namespace djprobe::x86 {
namespace {

constexpr u64 kAddress = 0xffffffff81234567;

bool is_same(const Insn& a, const Insn& b) {
    return a.address == b.address && a.target == b.target && a.taken == b.taken &&
           a.kind == b.kind && a.length == b.length && a.modrm_offset == b.modrm_offset &&
           a.rel_offset == b.rel_offset && a.rel_size == b.rel_size &&
           a.rip_disp_offset == b.rip_disp_offset && a.taken_offset == b.taken_offset &&
           a.immovable == b.immovable && a.stack_relative == b.stack_relative;
}

std::string hex(Span<const u8> bytes) {
    std::string text;
    char pair[4];
    for (const u8 byte : bytes) {
        std::snprintf(pair, sizeof pair, "%02x ", byte);
        text += pair;
    }
    return text;
}

/// Returns whether the short cut takes it.
bool compare(Span<const u8> bytes) {
    Insn common, any;
    if (!decode_common(bytes, kAddress, common)) return false;
    const bool valid = decode_any(bytes, kAddress, any);
    EXPECT_TRUE(valid && is_same(common, any)) << hex(bytes);
    // One that ends too early is not taken.
    Insn cut;
    for (size_t length = 0; length < common.length; ++length)
        EXPECT_FALSE(decode_common(bytes.first(length), kAddress, cut)) << hex(bytes) << length;
    return true;
}

TEST(CommonTest, SaysWhatTheWholeDecoderSays) {
    std::mt19937_64 random(1);
    size_t taken = 0;
    // Prefixes: none, gs, each REX, both, and one that the short cut must not take.
    for (unsigned int prefix = 0; prefix < 35; ++prefix)
        for (unsigned int opcode = 0; opcode < 512; ++opcode)
            for (unsigned int modrm = 0; modrm < 256 && !::testing::Test::HasFailure(); ++modrm) {
                u8 bytes[kMaxInsnLength];
                for (u8& byte : bytes)
                    byte = static_cast<u8>(random());
                size_t at = 0;
                if (prefix == 34) bytes[at++] = 0x66;
                if (prefix >= 17 && prefix < 34) bytes[at++] = 0x65;
                if (prefix % 17 && prefix < 34)
                    bytes[at++] = static_cast<u8>(0x40 + prefix % 17 - 1);
                if (opcode >= 256) bytes[at++] = 0x0f;
                bytes[at++] = static_cast<u8>(opcode);
                bytes[at] = static_cast<u8>(modrm);
                taken += compare({bytes, sizeof bytes});
            }
    EXPECT_GT(taken, 1'000'000u) << "it saves nothing";
}

TEST(CommonTest, KnowsWhereFunctionsBegin) {
    const u8 endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    EXPECT_TRUE(compare({endbr64, sizeof endbr64}));
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
