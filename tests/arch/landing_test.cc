// SPDX-License-Identifier: GPL-2.0
#include "arch/x86/landing.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "support/printers.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::join;
using test::kText;
using test::view;

constexpr size_t kSize = 0x1000;
constexpr Range kWhole = {kText, kText + kSize};

/// A map of kSize bytes of text at kText with memory of its own.
class Map {
  public:
    explicit Map(Range text = kWhole)
        : bits_(LandingMap::bytes_needed(text)), map_(text, {bits_.data(), bits_.size()}) {}
    Map(const Map&) = delete;

    LandingMap* operator->() { return &map_; }
    bool marked(size_t offset) const { return map_.any({kText + offset, kText + offset + 1}); }
    std::set<size_t> all() const {
        std::set<size_t> offsets;
        for (size_t offset = 0; offset < map_.text().size(); ++offset)
            if (marked(offset)) offsets.insert(offset);
        return offsets;
    }

  private:
    Bytes bits_;
    LandingMap map_;
};

Bytes little_endian(u32 value) {
    return {static_cast<u8>(value), static_cast<u8>(value >> 8), static_cast<u8>(value >> 16),
            static_cast<u8>(value >> 24)};
}

/// `opcode` at `from` with a displacement that leads to `to`; offsets from kText.
Bytes branch(const Bytes& opcode, size_t from, size_t to) {
    return join(opcode, little_endian(static_cast<u32>(to - (from + opcode.size() + 4))));
}

// --- marking ---

TEST(LandingMapTest, EveryLongBranchMarksItsTarget) {
    std::vector<Bytes> opcodes = {{0xe8}, {0xe9}, {0xc7, 0xf8}};  // call, jmp, xbegin
    for (u8 condition = 0; condition < 16; ++condition)
        opcodes.push_back({0x0f, static_cast<u8>(0x80 | condition)});
    for (const Bytes& opcode : opcodes) {
        Map map;
        const Bytes code = branch(opcode, 0x100, 0x345);
        map->add_long_branches({kText + 0x100, view(code)});
        EXPECT_TRUE(map.marked(0x345)) << +opcode[0];
    }
}

TEST(LandingMapTest, SignExtendedAddressesAreMarked) {
    Map map;
    const Bytes code = CODE("mov rax, 0xffffffff81000123");
    map->add_long_branches({0xffffffff90000000, view(code)});
    EXPECT_EQ(map.all(), (std::set<size_t>{0x123}));
}

TEST(LandingMapTest, BranchAtAnyAlignmentIsSeen) {
    for (size_t lead = 0; lead < 8; ++lead) {
        Map map;
        const Bytes code = join(Bytes(lead, 0x90), branch({0xe9}, 0x100 + lead, 0x345));
        map->add_long_branches({kText + 0x100, view(code)});
        EXPECT_TRUE(map.marked(0x345)) << lead;
    }
}

TEST(LandingMapTest, BackwardAndForwardTargets) {
    Map map;
    const Bytes code = join(branch({0xe9}, 0x800, 0x10), branch({0xe9}, 0x805, 0xff0));
    map->add_long_branches({kText + 0x800, view(code)});
    EXPECT_TRUE(map.marked(0x10));
    EXPECT_TRUE(map.marked(0xff0));
}

TEST(LandingMapTest, BranchFromOutsideOfTheText) {
    Map map;
    const Bytes code = branch({0xe9}, 0x100000, 0x345);
    map->add_long_branches({kText + 0x100000, view(code)});
    EXPECT_TRUE(map.marked(0x345));
}

TEST(LandingMapTest, FirstAndLastByteOfTheText) {
    Map map;
    map->add(kText);
    map->add(kText + kSize - 1);
    EXPECT_EQ(map.all(), (std::set<size_t>{0, kSize - 1}));
}

TEST(LandingMapTest, TargetsOutsideOfTheTextAreIgnored) {
    Map map;
    map->add(kText - 1);
    map->add(kText + kSize);
    map->add(0);
    map->add(~0ul);
    EXPECT_TRUE(map.all().empty());
}

TEST(LandingMapTest, TextWhoseSizeIsNoMultipleOfEight) {
    Map map({kText, kText + 13});
    map->add(kText + 12);
    map->add(kText + 13);
    EXPECT_EQ(map.all(), std::set<size_t>{12});
}

TEST(LandingMapTest, BranchSplitByTwoPiecesIsSeenWithThreeBytesOfOverlap) {
    const Bytes code = branch({0xe9}, 0x100, 0x345);
    for (size_t split = 1; split < code.size(); ++split) {
        Map map;
        map->add_long_branches({kText + 0x100, view(code).first(split)});
        const size_t again = split < 3 ? 0 : split - 3;
        map->add_long_branches({kText + 0x100 + again, view(code).from(again)});
        EXPECT_TRUE(map.marked(0x345)) << split;
    }
}

TEST(LandingMapTest, FewerThanFourBytesMarkNothing) {
    Map map;
    for (size_t size = 0; size < 4; ++size) {
        const Bytes code(size, 0);
        map->add_long_branches({kText, view(code)});
    }
    EXPECT_TRUE(map.all().empty());
}

TEST(LandingMapTest, PointersIntoTheTextAreMarked) {
    Map map;
    const u64 words[] = {kText + 0x10, kText - 8, 0, kText + 0x20, kText + kSize};
    map->add_pointers(words);
    EXPECT_EQ(map.all(), (std::set<size_t>{0x10, 0x20}));
}

TEST(LandingMapTest, MarksAccumulate) {
    Map map;
    map->add(kText + 8);
    map->add(kText + 9);
    map->add(kText + 8);
    EXPECT_EQ(map.all(), (std::set<size_t>{8, 9}));
}

// --- asking ---

TEST(LandingMapTest, RangeEndIsExclusive) {
    Map map;
    map->add(kText + 5);
    EXPECT_FALSE(map->any({kText + 1, kText + 5}));
    EXPECT_TRUE(map->any({kText + 1, kText + 6}));
    EXPECT_TRUE(map->any({kText + 5, kText + 6}));
    EXPECT_FALSE(map->any({kText + 6, kText + 10}));
}

TEST(LandingMapTest, RangeAcrossTheTextsEdges) {
    Map map;
    map->add(kText);
    map->add(kText + kSize - 1);
    EXPECT_TRUE(map->any({kText - 3, kText + 1}));
    EXPECT_FALSE(map->any({kText - 4, kText}));
    EXPECT_TRUE(map->any({kText + kSize - 1, kText + kSize + 4}));
    EXPECT_FALSE(map->any({kText + kSize, kText + kSize + 4}));
}

TEST(LandingMapTest, EmptyMapMarksNothing) {
    const LandingMap map;
    EXPECT_FALSE(map.any({kText, kText + 5}));
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

TEST(FindLongArrivalTest, UndecodableFunctionProvesNothing) {
    EXPECT_EQ(arrival(CODE("nop; .byte 0x06; nop; nop; nop; nop; ret"), 3, kText),
              Refusal(Reason::BRANCH_INTO_REGION, kText + 3));
}

TEST(FindLongArrivalTest, UndecodableBytesBehindItDoNotMatter) {
    EXPECT_EQ(arrival(CODE("movabs rax, 0x00001000e8; .byte 0x06"), 3, kText), Refusal());
}

// --- against brute force ---

TEST(LandingPropertyTest, NoDecodableBranchEscapesTheMap) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 20; ++round) {
        Bytes text(kSize);
        for (u8& byte : text)
            byte = static_cast<u8>(random());
        // Random displacements rarely lead into 4 KiB.
        for (int i = 0; i < 100; ++i) {
            const size_t from = random() % (kSize - 6);
            const Bytes opcode = i % 2 ? Bytes{0xe8} : Bytes{0x0f, 0x85};
            const Bytes code = branch(opcode, from, random() % kSize);
            std::copy(code.begin(), code.end(), text.begin() + static_cast<long>(from));
        }
        Map map;
        map->add_long_branches({kText, view(text)});
        size_t branches = 0;
        for (size_t at = 0; at < kSize; ++at) {
            Insn insn;
            if (!decode(view(text).from(at), kText + at, insn)) continue;
            if (insn.rel_size != 4 || !kWhole.contains(insn.target)) continue;
            ++branches;
            EXPECT_TRUE(map.marked(insn.target - kText)) << "branch at +" << at;
        }
        EXPECT_GT(branches, 50u);
    }
}

TEST(LandingPropertyTest, EveryMarkHasFourBytesThatLeadThere) {
    std::mt19937_64 random(2);
    Bytes text(kSize);
    for (size_t i = 0; i < kSize; i += 4) {
        const Bytes word = little_endian(static_cast<u32>(random() % (2 * kSize) - kSize));
        std::copy(word.begin(), word.end(), text.begin() + static_cast<long>(i));
    }
    Map map;
    map->add_long_branches({kText, view(text)});

    std::set<size_t> expected;
    for (size_t i = 0; i + 4 <= kSize; ++i) {
        const i64 displacement = static_cast<i32>(text[i] | text[i + 1] << 8 | text[i + 2] << 16 |
                                                  static_cast<u32>(text[i + 3]) << 24);
        const i64 target = static_cast<i64>(i) + 4 + displacement;
        if (target >= 0 && target < static_cast<i64>(kSize))
            expected.insert(static_cast<size_t>(target));
        if (const u64 address = static_cast<u64>(displacement); kWhole.contains(address))
            expected.insert(address - kText);
    }
    EXPECT_GT(expected.size(), 100u);
    EXPECT_EQ(map.all(), expected);
}

}  // namespace
}  // namespace djprobe::x86
