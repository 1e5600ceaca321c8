// SPDX-License-Identifier: GPL-2.0
#include "arch/x86/analysis/far_arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <set>

#include "support/printers.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::join;
using test::kText;
using test::little_endian;
using test::view;

constexpr size_t kSize = 0x1000;
constexpr Range kWhole = {kText, kText + kSize};

/// `opcode` at `from` with a displacement that leads to `to`; offsets from kText.
Bytes branch(const Bytes& opcode, size_t from, size_t to) {
    return join(opcode, little_endian(to - (from + opcode.size() + 4), 4));
}

// --- finding the source ---

struct FoundBranch {
    size_t field;
    size_t target;
    bool operator==(const FoundBranch&) const = default;
};

std::vector<FoundBranch> find_all(const Code& code, Range targets, size_t limit = 1000) {
    std::vector<FoundBranch> found;
    find_long_branches(code, targets, [&](u64 field, u64 target) {
        found.push_back({field - kText, target - kText});
        return found.size() < limit;
    });
    return found;
}

TEST(FindLongBranchTest, NamesTheDisplacementAndTheTarget) {
    const Bytes code = join({0x90}, branch({0x0f, 0x84}, 0x101, 0x345));
    const auto found = find_all({kText + 0x100, view(code)}, {kText + 0x341, kText + 0x346});
    EXPECT_EQ(found, (std::vector<FoundBranch>{{0x103, 0x345}}));
}

TEST(FindLongBranchTest, StopsWhenTheCallerHasEnough) {
    const Bytes code =
        join(branch({0xe9}, 0, 0x345), branch({0xe9}, 5, 0x345), branch({0xe9}, 10, 0x345));
    const Range targets = {kText + 0x345, kText + 0x346};
    EXPECT_EQ(find_all({kText, view(code)}, targets).size(), 3u);
    EXPECT_EQ(find_all({kText, view(code)}, targets, 2).size(), 2u);
}

TEST(FindLongBranchTest, LooksAtTheLastFourBytes) {
    const Bytes code = branch({0xe9}, 0, 0x345);
    EXPECT_EQ(find_all({kText, view(code)}, {kText + 0x345, kText + 0x346}).size(), 1u);
    EXPECT_TRUE(find_all({kText, view(code).first(4)}, {kText + 0x345, kText + 0x346}).empty());
}

/// xbegin with 2 bytes of displacement, at `from`.
Bytes xbegin_rel16(size_t from, size_t to) {
    const size_t displacement = to - (from + 5);
    return {0x66, 0xc7, 0xf8, static_cast<u8>(displacement), static_cast<u8>(displacement >> 8)};
}

TEST(FindLongBranchTest, ATransactionsShortDisplacementComesWithItsOpcode) {
    for (const size_t target : {0x30u, 0x345u}) {
        const Bytes code = join({0x90}, xbegin_rel16(0x101, target));
        const auto found =
            find_all({kText + 0x100, view(code)}, {kText + target, kText + target + 1});
        EXPECT_EQ(found, (std::vector<FoundBranch>{{0x102, target}}));
    }
}

/// What 4 bytes lead to, one by one and in full width.
std::vector<FoundBranch> find_all_slowly(const Code& code, Range targets) {
    std::vector<FoundBranch> found;
    for (size_t i = 0; i + 4 <= code.bytes.size(); ++i) {
        const u64 field = code.address + i;
        i32 bytes;
        std::memcpy(&bytes, code.bytes.data() + i, 4);
        const u64 value = static_cast<u64>(i64{bytes});
        for (const u64 target : {field + 4 + value, value, xbegin_rel16_target(field, bytes)})
            if (target && targets.contains(target))
                found.push_back({field - kText, target - kText});
    }
    return found;
}

TEST(FindLongBranchTest, FindsTheSameAsEachFieldByItself) {
    std::mt19937_64 random(1);
    size_t all = 0;
    for (int round = 0; round < 2000; ++round) {
        // Near and far targets, of all sizes, also around the places where halves of addresses
        // wrap.
        const u64 middle =
            std::array<u64, 5>{kText, 0, ~0ull << 32, 1ull << 31, random()}[random() % 5];
        const u64 begin = middle + random() % 0x20000 - 0x10000;
        const u64 size = std::array<u64, 4>{random() % 64, random() % 0x8000, random() >> 31,
                                            random()}[random() % 4];
        const Range targets = {begin, begin + size < begin ? ~0ull : begin + size};
        Bytes code;
        for (int i = 0; i < 100; ++i) {
            const u64 target = targets.begin + random() % (targets.size() + 2);
            const u64 field = kText + code.size();
            switch (random() % 4) {
                case 0:
                    code = join(code, little_endian(target - (field + 4), 4));
                    break;
                case 1:
                    code = join(code, little_endian(target, 4));
                    break;
                case 2:
                    code = join(code, join({0xc7, 0xf8}, little_endian(target - (field + 4), 2)));
                    break;
                default:
                    code = join(code, little_endian(random(), random() % 8));
                    break;
            }
        }
        const auto slowly = find_all_slowly({kText, view(code)}, targets);
        EXPECT_EQ(find_all({kText, view(code)}, targets, code.size() * 3), slowly);
        all += slowly.size();
    }
    EXPECT_GT(all, 100'000u);
}

// --- telling branches from look-alikes ---

Refusal arrival(const Bytes& function, size_t field, u64 target) {
    return find_long_arrival({kText, view(function)}, kText + field, target);
}

TEST(FindLongArrivalTest, RealBranchesGiveTheirAddress) {
    const Bytes code = CODE("nop; call 771b + 0x1000; jz 771b + 0x1000; jmp 771b + 0x1000");
    const u64 target = kText + 0x1000;
    EXPECT_EQ(arrival(code, 2, target), Refusal(Reason::BRANCH_INTO_REGION, kText + 1));
    EXPECT_EQ(arrival(code, 8, target), Refusal(Reason::BRANCH_INTO_REGION, kText + 6));
    EXPECT_EQ(arrival(code, 13, target), Refusal(Reason::BRANCH_INTO_REGION, kText + 12));
}

TEST(FindLongArrivalTest, AddressesThatAreTakenArrive) {
    const Refusal taken(Reason::POINTER_INTO_REGION, kText + 1);
    EXPECT_EQ(arrival(CODE("nop; lea rax, [rip + 0x1000]; ret"), 4, kText + 0x1008), taken);
    EXPECT_EQ(arrival(CODE("nop; lea rax, [rcx*8 + 0x1000]; ret"), 5, 0x1000), taken);
    EXPECT_EQ(arrival(CODE("nop; mov rax, 0x12345678; ret"), 4, 0x12345678), taken);
    // What a 32-bit operation holds is no address of the kernel: an ioctl's number, say.
    EXPECT_EQ(arrival(CODE("nop; cmp esi, 0x12345678; ret"), 3, 0x12345678), Refusal());
    EXPECT_EQ(arrival(CODE("nop; push 0x12345678; ret"), 2, 0x12345678), taken);
    EXPECT_EQ(arrival(CODE("nop; movabs rax, 0x123456789abcdef0; ret"), 3, 0x123456789abcdef0),
              taken);
}

TEST(FindLongArrivalTest, ImmediateThatLooksLikeABranchIsNone) {
    // e8 and its displacement are the immediate of a mov.
    const Bytes code = CODE("nop; movabs rax, 0x00001000e8; ret");
    EXPECT_EQ(arrival(code, 4, kText + 8 + 0x1000), Refusal());
}

TEST(FindLongArrivalTest, ImmediateThatWouldLeadThereAsADisplacementIsNone) {
    EXPECT_EQ(arrival(CODE("mov rax, 0x12345678; ret"), 3, kText + 7 + 0x12345678), Refusal());
}

TEST(FindLongArrivalTest, DisplacementThatWouldBeAnAddressIsNone) {
    EXPECT_EQ(arrival(CODE("call 771b + 0x1005"), 1, 0x1000), Refusal());
}

TEST(FindLongArrivalTest, MemoryDisplacementIsNone) {
    const Bytes code = CODE("nop; mov rax, [rip + 0x1000]; ret");
    EXPECT_EQ(arrival(code, 4, kText + 0x1008), Refusal());
}

TEST(FindLongArrivalTest, NeighbouringBytesOfABranchAreNone) {
    const Bytes code = CODE("nop; call 771b + 0x1000; nop; nop; nop; nop; ret");
    EXPECT_EQ(arrival(code, 1, kText + 0x1000), Refusal());
    EXPECT_EQ(arrival(code, 3, kText + 0x1000), Refusal());
}

TEST(FindLongArrivalTest, TransactionWithAShortDisplacement) {
    const Bytes code = join({0x90}, xbegin_rel16(1, 0x30));
    EXPECT_EQ(arrival(code, 2, kText + 0x30), Refusal(Reason::BRANCH_INTO_REGION, kText + 1));
    EXPECT_EQ(arrival(code, 2, kText + 0x31), Refusal());
}

TEST(FindLongArrivalTest, UndecodableFunctionProvesNothing) {
    EXPECT_EQ(arrival(CODE("nop; .byte 0x06; nop; nop; nop; nop; ret"), 3, kText),
              Refusal(Reason::BRANCH_INTO_REGION, kText + 3));
}

TEST(FindLongArrivalTest, UndecodableBytesBehindItDoNotMatter) {
    EXPECT_EQ(arrival(CODE("movabs rax, 0x00001000e8; .byte 0x06"), 3, kText), Refusal());
}

// --- by the bytes before ---

bool looks_like(const Bytes& code, size_t field, u64 target) {
    return looks_like_branch({kText, view(code)}, kText + field, target);
}

TEST(LooksLikeBranchTest, OpcodesOfBranchesAndOfLea) {
    for (const Bytes& opcode :
         {Bytes{0x90, 0xe8}, {0x90, 0xe9}, {0x0f, 0x80}, {0x0f, 0x8f}, {0xc7, 0xf8}, {0x8d, 0x3d}})
        EXPECT_TRUE(looks_like(join(opcode, Bytes(4, 0)), 2, kText + 6)) << +opcode[1];
}

TEST(LooksLikeBranchTest, OtherOpcodesAreNone) {
    for (const Bytes& opcode :
         {Bytes{0xe8, 0x90}, {0x0f, 0x90}, {0xc7, 0xf9}, {0x8d, 0x7d}, {0x8b, 0x05}})
        EXPECT_FALSE(looks_like(join(opcode, Bytes(4, 0)), 2, kText + 6)) << +opcode[1];
}

// The index may be built when probes are there already: with the first one there was no memory for
// it.
TEST(LooksLikeBranchTest, AnInt3MayHideTheOpcode) {
    for (const Bytes& opcode :
         {Bytes{0x90, 0xcc}, {0xcc, 0x80}, {0xcc, 0x8f}, {0xcc, 0xf8}, {0xcc, 0x3d}})
        EXPECT_TRUE(looks_like(join(opcode, Bytes(4, 0)), 2, kText + 6)) << +opcode[1];
}

TEST(LooksLikeBranchTest, AddressesStandAnywhere) {
    EXPECT_TRUE(looks_like(join({0x90, 0x90}, little_endian(0x81000123, 4)), 2, kText + 0x123));
}

TEST(LooksLikeBranchTest, NothingIsKnownOfWhatLiesBeforeThePiece) {
    EXPECT_TRUE(looks_like(Bytes(4, 0), 0, kText + 4));
    EXPECT_TRUE(looks_like(Bytes(5, 0), 1, kText + 5));
}

// --- against brute force ---

TEST(LandingPropertyTest, NoDecodableArrivalEscapes) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 20; ++round) {
        Bytes text(kSize);
        for (u8& byte : text)
            byte = static_cast<u8>(random());
        // Random displacements rarely lead into 4 KiB.
        const std::vector<Bytes> opcodes = {{0xe8}, {0xe9}, {0x0f, 0x85}, {0x48, 0x8d, 0x05}};
        for (int i = 0; i < 100; ++i) {
            const size_t from = random() % (kSize - 7);
            const Bytes code = branch(opcodes[random() % opcodes.size()], from, random() % kSize);
            std::copy(code.begin(), code.end(), text.begin() + static_cast<long>(from));
        }
        for (int i = 0; i < 20; ++i) {
            const size_t from = random() % (kSize - 5);
            const Bytes code = xbegin_rel16(from, random() % kSize);
            std::copy(code.begin(), code.end(), text.begin() + static_cast<long>(from));
        }
        const Code code = {kText, view(text)};
        std::set<std::pair<u64, u64>> found;
        find_long_branches(code, kWhole, [&](u64 field, u64 target) {
            if (looks_like_branch(code, field, target)) found.insert({field, target});
            return true;
        });
        size_t branches = 0, taken = 0;
        for (size_t at = 0; at < kSize; ++at) {
            Insn insn;
            if (!decode(code.bytes.from(at), kText + at, insn)) continue;
            if (insn.rel_size > 1 && kWhole.contains(insn.target)) {
                ++branches;
                const u64 field = insn.address + insn.rel_offset - (insn.rel_size == 2 ? 2 : 0);
                EXPECT_TRUE(found.contains({field, insn.target})) << "branch at +" << at;
            }
            if (insn.taken_offset && kWhole.contains(insn.taken)) {
                ++taken;
                EXPECT_TRUE(found.contains({insn.address + insn.taken_offset, insn.taken}))
                    << "address taken at +" << at;
            }
        }
        EXPECT_GT(branches, 50u);
        EXPECT_GT(taken, 10u);
        // All others are no more than the opcodes' share of random bytes.
        EXPECT_LT(found.size(), 2 * (branches + taken) + 20);
    }
}

}  // namespace
}  // namespace djprobe::x86
