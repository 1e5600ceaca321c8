// SPDX-License-Identifier: GPL-2.0
// Where a variable is, by DWARF's expressions.
#include <dwarf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "debuginfo/variables.h"

namespace djprobe::loader {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Location::Kind;

std::string text_of(std::vector<Dwarf_Op> ops) {
    const Dwarf_Op base[] = {{DW_OP_call_frame_cfa, 0, 0, 0}};
    const Dwarf_Op frame[] = {{DW_OP_bregx, 7, 32, 0}};
    Surroundings around{base, frame};
    around.base_type = [](std::uint64_t type) -> std::optional<BaseType> {
        return BaseType{type / 10, type % 10 != 0};  // 41: of 4 bytes, with a sign
    };
    around.data = [](std::uint64_t address) {
        return Location{Kind::kMemory, "&_text + " + std::to_string(address)};
    };
    const Location location = to_location(ops, around);
    switch (location.kind) {
        case Kind::kNone:
            return location.why;
        case Kind::kValue:
            return "= " + location.text;
        case Kind::kMemory:
            return "at " + location.text;
        case Kind::kWords:
            return fmt::format("words {}", fmt::join(location.words, ", "));
    }
    return "";
}

Dwarf_Op op(int atom, std::int64_t number = 0) {
    return {static_cast<std::uint8_t>(atom), static_cast<Dwarf_Word>(number), 0, 0};
}

TEST(Location, IsInARegisterOrInMemory) {
    EXPECT_EQ(text_of({op(DW_OP_reg5)}), "= ctx->di");
    EXPECT_EQ(text_of({op(DW_OP_regx, 12)}), "= ctx->r12");
    EXPECT_EQ(text_of({op(DW_OP_breg3, 16)}), "at ctx->bx + 16");
    EXPECT_EQ(text_of({op(DW_OP_fbreg, -24)}), "at ctx->sp + 8");
    EXPECT_EQ(text_of({op(DW_OP_breg3), op(DW_OP_deref), op(DW_OP_plus_uconst, 4)}),
              "at ((unsigned long)READ(unsigned long, (unsigned long *)ctx->bx)) + 4");
}

TEST(Location, OfAValueIsArithmeticOf64Bits) {
    const Dwarf_Op end = op(DW_OP_stack_value);
    EXPECT_EQ(text_of({op(DW_OP_lit5), op(DW_OP_neg), end}), "= -(unsigned long)5");
    EXPECT_EQ(text_of({op(DW_OP_consts, -5), end}), "= -5");
    EXPECT_EQ(text_of({op(DW_OP_const8u, 0x123456789), end}), "= 0x123456789UL");
    EXPECT_EQ(text_of({op(DW_OP_breg6, -8), op(DW_OP_lit1), op(DW_OP_shl), end}),
              "= (ctx->bp - 8) << 1");
    EXPECT_EQ(text_of({op(DW_OP_breg6), op(DW_OP_lit3), op(DW_OP_shra), end}),
              "= (unsigned long)((long)ctx->bp >> 3)");
    EXPECT_EQ(text_of({op(DW_OP_breg0), op(DW_OP_breg1), op(DW_OP_minus), end}),
              "= ctx->ax - ctx->dx");
    EXPECT_EQ(text_of({op(DW_OP_breg0), op(DW_OP_lit0), op(DW_OP_lt), end}),
              "= (unsigned long)((long)ctx->ax < (long)0)");
}

TEST(Location, MayBeInPieces) {
    EXPECT_EQ(text_of({op(DW_OP_reg0), op(DW_OP_piece, 8), op(DW_OP_reg3), op(DW_OP_piece, 8)}),
              "words ctx->ax, ctx->bx");
    EXPECT_EQ(text_of({op(DW_OP_reg0), op(DW_OP_piece, 4), op(DW_OP_lit7), op(DW_OP_stack_value),
                       op(DW_OP_piece, 4)}),
              "= (ctx->ax & 0xffffffff) | (7 & 0xffffffff) << 32");
    EXPECT_EQ(
        text_of({op(DW_OP_fbreg, -24), op(DW_OP_piece, 4), op(DW_OP_reg1), op(DW_OP_piece, 4)}),
        "= (unsigned long)READ(unsigned int, (unsigned int *)(ctx->sp + 8)) | "
        "(ctx->dx & 0xffffffff) << 32");
    // The number of bytes stands before them.
    const std::uint8_t bytes[] = {10, 1, 0, 0, 0, 0, 0, 0, 0, 2, 3};
    Dwarf_Op constant = op(DW_OP_implicit_value, 10);
    constant.number2 = reinterpret_cast<Dwarf_Word>(bytes);
    EXPECT_EQ(text_of({constant}), "words 1, 770");
}

TEST(Location, MayFollowFromWhatTheFunctionWasGiven) {
    const std::uint8_t rdi[] = {1, DW_OP_reg5};
    Dwarf_Op entry = op(DW_OP_entry_value, 1);
    entry.number2 = reinterpret_cast<Dwarf_Word>(rdi);
    EXPECT_EQ(text_of({entry, op(DW_OP_plus_uconst, 3), op(DW_OP_stack_value)}), "= given->di + 3");
    const std::uint8_t other[] = {2, DW_OP_breg5, 8};
    entry.number = 2;
    entry.number2 = reinterpret_cast<Dwarf_Word>(other);
    EXPECT_THAT(text_of({entry, op(DW_OP_stack_value)}),
                HasSubstr("follows only from what the function was given"));
}

TEST(Location, OfANarrowNumberIsCutAndExtended) {
    const Dwarf_Op end = op(DW_OP_stack_value);
    EXPECT_EQ(text_of({op(DW_OP_breg0), op(DW_OP_convert, 41), op(DW_OP_convert), end}),
              "= (unsigned long)(int)ctx->ax");
    Dwarf_Op narrow = op(DW_OP_regval_type, 3);
    narrow.number2 = 10;
    EXPECT_EQ(text_of({narrow, op(DW_OP_plus_uconst, 1), op(DW_OP_convert), end}),
              "= (unsigned long)(unsigned char)(((unsigned long)(unsigned char)ctx->bx) + 1)");
    EXPECT_THAT(text_of({narrow, op(DW_OP_lit1), op(DW_OP_convert, 10), op(DW_OP_shr), end}),
                HasSubstr("not understood"));
}

TEST(Location, OfTheKernelsDataIsCountedFromItsFirstByte) {
    EXPECT_EQ(text_of({op(DW_OP_addr, 4096)}), "at &_text + 4096");
    EXPECT_EQ(text_of({op(DW_OP_addr, 4096), op(DW_OP_stack_value)}), "= &_text + 4096");
    EXPECT_EQ(text_of({op(DW_OP_addr, 8), op(DW_OP_plus_uconst, 4), op(DW_OP_stack_value)}),
              "= (&_text + 8) + 4");
}

TEST(Location, KnowsWhatItDependsOn) {
    Location location{Kind::kValue, "ctx->r12 + 8"};
    EXPECT_TRUE(location.depends_on({"r12"}, false));
    EXPECT_FALSE(location.depends_on({"r1", "di"}, true));
    location.kind = Kind::kMemory;
    EXPECT_TRUE(location.depends_on({}, true));
}

TEST(Location, OfWhatIsNotUnderstoodHasNoValue) {
    EXPECT_THAT(text_of({}), HasSubstr("optimized out"));
    EXPECT_THAT(text_of({op(DW_OP_reg0), op(DW_OP_piece, 4), op(DW_OP_piece, 4)}),
                HasSubstr("a part of it is optimized out"));
    EXPECT_THAT(text_of({op(DW_OP_reg0), op(DW_OP_bit_piece, 4)}), HasSubstr("not understood"));
    // No word of eight bytes holds all of a register that lies across two.
    EXPECT_THAT(text_of({op(DW_OP_reg0), op(DW_OP_piece, 4), op(DW_OP_reg1), op(DW_OP_piece, 8)}),
                HasSubstr("in pieces"));
    EXPECT_THAT(text_of({op(DW_OP_implicit_pointer)}), HasSubstr("what is not in memory"));
    EXPECT_THAT(text_of({op(DW_OP_reg17)}), HasSubstr("register that programs do not see"));
    EXPECT_THAT(text_of({op(DW_OP_plus)}), HasSubstr("not understood"));
    EXPECT_THAT(text_of({op(DW_OP_breg0), op(DW_OP_breg1), op(DW_OP_shl), op(DW_OP_stack_value)}),
                HasSubstr("not understood"));
    // Below the stack pointer interrupts write.
    EXPECT_THAT(text_of({op(DW_OP_fbreg, -40)}), HasSubstr("no frame here"));
}

}  // namespace
}  // namespace djprobe::loader
