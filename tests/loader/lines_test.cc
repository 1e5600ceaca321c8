// SPDX-License-Identifier: GPL-2.0
// Lines, variables and their places by DWARF, of lines_sample.c.
#include <dwarf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "debuginfo/function_lines.h"
#include "debuginfo/inlined_index.h"
#include "debuginfo/variables.h"
#include "expect_error.h"
#include "temp_file.h"
#include "trace/find_sites.h"

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

class Lines : public testing::Test {
  protected:
    // The number of the line that is marked so.
    static unsigned line(const std::string& word) {
        std::ifstream file(DJPROBE_LINES_SAMPLE ".c");
        unsigned number = 0;
        for (std::string text; std::getline(file, text);) {
            ++number;
            if (text.find("LINE: " + word) != text.npos) return number;
        }
        return 0;
    }
    static std::string place(const std::string& word) {
        return "lines_sample.c:" + std::to_string(line(word));
    }
    Question find(const std::string& text, const Judge& judge = accept) {
        Question question;
        parse_place(text, question);
        find_sites(debug_, {judge}, question, notes_);
        return question;
    }
    /// A line with two copies.
    Question find_both() {
        Question question;
        parse_place(place("add"), question);
        question.items = "always";
        find_sites(debug_, {accept}, question, notes_);
        return question;
    }
    static Judged accept(const SiteSpec&) { return {}; }
    static const SourceVariable& variable(const TraceSite& site, const std::string& name) {
        return *std::ranges::find(site.variables, name, &SourceVariable::name);
    }

    DwarfFile debug_ = DwarfFile::open(DJPROBE_LINES_OBJECT);
    SiteNotes notes_;
};

TEST_F(Lines, AreFoundInEachInlinedCopyWithTheVariablesThere) {
    const Question question = find(place("add"));
    ASSERT_EQ(question.sites.size(), 2U);
    std::vector<std::string> steps;
    for (const TraceSite& site : question.sites) {
        EXPECT_EQ(site.site.symbol, "outer");
        EXPECT_THAT(site.about,
                    HasSubstr("lines_sample.c:" + std::to_string(line("add")) + ", add in outer"));
        EXPECT_EQ(variable(site, "total").function, "add");
        EXPECT_EQ(variable(site, "total").location.kind, Kind::kValue);
        EXPECT_EQ(variable(site, "always").location.text, "-5");
        steps.push_back(variable(site, "step").location.text);
    }
    EXPECT_THAT(steps, ElementsAre("1", "2"));
}

TEST_F(Lines, KnowTypesAndFrames) {
    const Question question = find(place("end"));
    ASSERT_EQ(question.sites.size(), 1U);
    EXPECT_EQ(question.site, question.sites.front().site);
    const TraceSite& site = question.sites.front();
    const SourceVariable pair = variable(site, "pair");
    EXPECT_EQ(pair.location.kind, Kind::kMemory);
    EXPECT_THAT(pair.location.text, testing::StartsWith("ctx->sp"));
    EXPECT_THAT(pair.type.names, ElementsAre(SourceType::Name{"struct", "pair"}));
    EXPECT_EQ(pair.type.size, 16U);
    const SourceType word = variable(site, "word").type;
    EXPECT_THAT(word.layers, ElementsAre(SourceType::Layer{true, 0}));
    EXPECT_THAT(word.names, ElementsAre(SourceType::Name{"", "char"}));
}

TEST_F(Lines, OfACallKnowTheCallersVariables) {
    const Question question = find(place("call"));
    ASSERT_FALSE(question.sites.empty());
    for (const TraceSite& site : question.sites) {
        EXPECT_THAT(site.about, testing::EndsWith(", caller"));
        EXPECT_EQ(variable(site, "count").function, "caller");
    }
}

TEST_F(Lines, LeaveOutWhatIsRefused) {
    bool first = true;
    const Question question = find(place("add"), [&](const SiteSpec&) -> Judged {
        if (!std::exchange(first, false)) return {};
        return {.refused = "a reason"};
    });
    EXPECT_EQ(question.sites.size(), 1U);
    EXPECT_THAT(notes_.left_out,
                ElementsAre(testing::ContainsRegex("^outer\\+0x[0-9a-f]+: a reason$")));
    EXPECT_THAT(
        expect_error(
            ExitCode::kNoSuchSite,
            [&] { find(place("add"), [](const auto&) { return Judged{.refused = "no"}; }); }),
        HasSubstr("no instruction of it can be probed: outer+0x"));
}

TEST_F(Lines, HideACallersVariableByAStaticOneOfTheInlinedFunction) {
    unsigned inlined = 0;
    for (const StatementSite& site : sites_of(debug_, std::string("shadowed"))) {
        if (site.functions.front() != "once") continue;
        ++inlined;
        const auto variables = variables_at(debug_, site.address, site.scope);
        const auto seen = std::ranges::find(variables, "seen", &SourceVariable::name);
        ASSERT_NE(seen, variables.end());
        EXPECT_EQ(seen->function, "once");
        EXPECT_EQ(seen->location.kind, Kind::kNone) << "the file is no kernel";
    }
    EXPECT_GT(inlined, 0U);
}

// What takes no probe is probed by others, which see what they do not change.
TEST_F(Lines, MayBeProbedBeside) {
    Question question;
    parse_place(place("end"), question);
    const Judgement kernel{[](const SiteSpec&) { return Judged{.refused = "a reason"}; },
                           [](const SiteSpec& site) -> std::vector<Beside> {
                               return {{{site.symbol, site.offset - 1, 0}, {"sp"}, false}};
                           }};
    find_sites(debug_, kernel, question, notes_);
    ASSERT_EQ(question.sites.size(), 1U);
    const TraceSite& site = question.sites.front();
    EXPECT_THAT(notes_.beside,
                ElementsAre(HasSubstr(": a reason: the probe is at " + site.site.str())));
    EXPECT_EQ(variable(site, "pair").location.kind, Kind::kNone);
    EXPECT_EQ(variable(site, "always").location.text, "-5");
}

// What gets no jump gives way to a jump that shows the same.
TEST_F(Lines, MayBeProbedBesideForAJump) {
    Beside other{{}, {"sp"}, false, true};
    const auto kernel = [&]() -> Judgement {
        return {[](const SiteSpec&) { return Judged{.int3 = "a reason"}; },
                [&](const SiteSpec& site) -> std::vector<Beside> {
                    other.site = {site.symbol, site.offset + 1, 0};
                    return {other};
                }};
    };
    const auto moves = [&](const std::optional<std::string>& items) {
        Question question;
        parse_place(place("end"), question);
        question.items = items;
        notes_ = {};
        find_sites(debug_, kernel(), question, notes_);
        EXPECT_EQ(question.sites.size(), 1U);
        const bool moved = question.sites.front().site == other.site;
        EXPECT_EQ(notes_.beside.size(), moved ? 1U : 0U);
        if (moved) {
            EXPECT_THAT(notes_.beside.front(), HasSubstr(": no jump: a reason: the probe is at "));
        }
        return moved;
    };
    EXPECT_TRUE(moves("always"));
    EXPECT_FALSE(moves("always, pair.first")) << "pair is found by what is changed";
    EXPECT_FALSE(moves("always, rsp"));
    EXPECT_FALSE(moves(std::nullopt)) << "all variables are shown";
    other.changes_memory = true;
    EXPECT_FALSE(moves("always"));
    other.changes_memory = other.by_jump = false;
    EXPECT_FALSE(moves("always")) << "another int3 is no better";
}

// Two that have the same place beside them would be one event for both.
TEST_F(Lines, DoNotShareAPlaceBesideThem) {
    const SiteSpec both{"outer", 1, 0};
    const auto find_add = [&](const Judged& judged) {
        Question question;
        parse_place(place("add"), question);
        question.items = "always";
        notes_ = {};
        find_sites(debug_,
                   {[&](const SiteSpec&) { return judged; },
                    [&](const SiteSpec&) -> std::vector<Beside> {
                        return {{both, {}, false, true}};
                    }},
                   question, notes_);
        return question;
    };
    const Question refused = find_add({.refused = "a reason"});
    ASSERT_EQ(refused.sites.size(), 1U);
    EXPECT_EQ(refused.sites.front().site, both);
    EXPECT_EQ(notes_.beside.size(), 1U);
    EXPECT_THAT(notes_.left_out,
                ElementsAre(HasSubstr("what runs as often is probed already: outer+0x1")));
    const Question int3 = find_add({.int3 = "a reason"});
    EXPECT_EQ(int3.sites.size(), 2U) << "the second one stays where it is";
    EXPECT_THAT(notes_.left_out, testing::IsEmpty());
}

// What runs as often is several places together: one of them that is probed is not enough.
TEST_F(Lines, ShareAPlaceBesideThemIfTheyHaveOthers) {
    Question question = find_both();
    ASSERT_EQ(question.sites.size(), 2U);
    const SiteSpec first = question.sites[0].site, second = question.sites[1].site;
    const SiteSpec other{"outer", 1, 0};
    question.sites.clear();
    find_sites(debug_,
               {[&](const SiteSpec& site) {
                    return site == first ? Judged{.refused = "a reason"} : Judged{};
                },
                [&](const SiteSpec&) -> std::vector<Beside> {
                    return {{second, {}, false, true}, {other, {}, false, true}};
                }},
               question, notes_);
    std::vector<std::string> sites;
    for (const TraceSite& one : question.sites)
        sites.push_back(one.site.str());
    EXPECT_THAT(sites, testing::UnorderedElementsAre(second.str(), other.str()));
    EXPECT_THAT(notes_.beside,
                ElementsAre(HasSubstr("; " + second.str() + " shows another place of the line")));
    EXPECT_THAT(notes_.left_out, testing::IsEmpty());
}

// One that stays at its int3 may give way: it takes a place last.
TEST_F(Lines, TakePlacesBesideThemFirstWhereTheyHaveNone) {
    Question question = find_both();
    ASSERT_EQ(question.sites.size(), 2U);
    for (const TraceSite& refused : std::vector(question.sites)) {
        question.sites.clear();
        find_sites(debug_,
                   {[&](const SiteSpec& site) {
                        return site == refused.site ? Judged{.refused = "a reason"}
                                                    : Judged{.int3 = "a reason"};
                    },
                    [&](const SiteSpec&) -> std::vector<Beside> {
                        return {{{"outer", 1, 0}, {}, false, true}};
                    }},
                   question, notes_);
        EXPECT_EQ(question.sites.size(), 2U);
    }
    EXPECT_THAT(notes_.left_out, testing::IsEmpty());
}

// Its value there would pass for the one at the line.
TEST_F(Lines, AreLeftOutWhereARegisterThatIsAskedForIsAnother) {
    Question question;
    parse_place(place("end"), question);
    question.items = "always, eax";
    const Judgement kernel{[](const SiteSpec&) { return Judged{.refused = "a reason"}; },
                           [](const SiteSpec& site) -> std::vector<Beside> {
                               return {{{site.symbol, site.offset + 1, 0}, {"ax"}, true, true}};
                           }};
    EXPECT_THAT(
        expect_error(ExitCode::kNoSuchSite, [&] { find_sites(debug_, kernel, question, notes_); }),
        HasSubstr("which runs as often, eax may be another"));
    question.items = "always";
    find_sites(debug_, kernel, question, notes_);
    EXPECT_THAT(notes_.beside, ElementsAre(HasSubstr("; memory may be changed between the two")));
}

// The kernel has fs/binfmt_elf.c twice. A name alone would be one of them at random.
TEST(Twins, AreCountedFromTheKernelsFirstByte) {
    const DwarfFile debug = DwarfFile::open(DJPROBE_TWINS_OBJECT);
    const auto find = [&](const std::string& text) {
        Question question;
        SiteNotes notes;
        parse_place(text, question);
        find_sites(debug, {[](const SiteSpec&) { return Judged{}; }}, question, notes);
        EXPECT_THAT(notes.left_out, testing::IsEmpty());
        return question.sites;
    };
    const std::vector<TraceSite> sites = find("twins_first.c:10");
    ASSERT_EQ(sites.size(), 2U);
    std::set<std::uint64_t> functions;
    for (const TraceSite& one : sites) {
        EXPECT_EQ(one.site.symbol, "_text");
        const auto place = debug.place_of(*debug.address_of("_text") + one.site.offset);
        ASSERT_TRUE(place);
        EXPECT_EQ(place->symbol, "twin");
        functions.insert(one.site.offset - place->offset);
    }
    EXPECT_EQ(functions.size(), 2U);
    EXPECT_EQ(find("twin:+1").size(), 2U);
    EXPECT_THAT(find("first_caller:+1").front().site.symbol, "first_caller");
    EXPECT_THAT(expect_error(ExitCode::kUsage, [&] { find("other:+1"); }),
                testing::ContainsRegex("^other:\\+1: several functions have this name, write "
                                       "FILE:LINE: they are at .*:15, .*:23$"));
}

TEST_F(Lines, OfAnInlinedFunctionAreItsInstances) {
    Question question;
    parse_place("add", question);
    question.inlined = true;
    find_sites(debug_, {accept}, question, notes_);
    ASSERT_EQ(question.sites.size(), 2U);
    std::vector<std::string> steps;
    for (const TraceSite& site : question.sites) {
        EXPECT_THAT(site.about, testing::EndsWith(", add in outer"));
        steps.push_back(variable(site, "step").location.text);
    }
    EXPECT_THAT(steps, ElementsAre("1", "2"));
    parse_place("outer", question);
    EXPECT_THAT(expect_error(ExitCode::kNoSuchSite,
                             [&] { find_sites(debug_, {accept}, question, notes_); }),
                HasSubstr("it is a function of its own: probeload trace outer"));
    parse_place("ad", question);
    EXPECT_THAT(expect_error(ExitCode::kNoSuchSite,
                             [&] { find_sites(debug_, {accept}, question, notes_); }),
                HasSubstr("no function of this name that was inlined; it has add, half, once"));
}

TEST_F(Lines, WithoutAStatementNameTheNextOne) {
    const std::string comment =
        expect_error(ExitCode::kNoSuchSite, [&] { find("lines_sample.c:1"); });
    EXPECT_THAT(comment, HasSubstr("the next line on which one does is lines_sample.c:"));
    EXPECT_THAT(expect_error(ExitCode::kNoSuchSite, [&] { find("lines_sample.c:9999"); }),
                HasSubstr("nor of one behind it"));
    // A part of a file's name is another file.
    EXPECT_THAT(expect_error(ExitCode::kNoSuchSite, [&] { find("sample.c:1"); }),
                HasSubstr("has no code of a file sample.c"));
    EXPECT_THAT(expect_error(ExitCode::kNoSuchSite, [&] { find("lines_sampel.c:1"); }),
                testing::ContainsRegex("a file lines_sampel.c; did you mean .*lines_sample.c\\?$"));
    EXPECT_THAT(expect_error(ExitCode::kNoSuchSite, [&] { find("nosuch:+1"); }),
                HasSubstr("has no function nosuch"));
}

TEST_F(Lines, OfAFunctionAreThoseInlinedIntoIt) {
    const auto lines =
        lines_of(sites_of(debug_, std::string("outer")), [](const SymbolPlace&) { return "jump"; });
    const auto inlined = std::ranges::count_if(lines, [](const LineSites& one) {
        return one.line == line("add") && one.functions == std::vector<std::string>{"add", "outer"};
    });
    EXPECT_EQ(inlined, 2);
    SourceText source(std::filesystem::path(DJPROBE_LINES_SAMPLE).parent_path().string());
    const std::string text = lines_text("outer", lines, source);
    EXPECT_THAT(text, testing::ContainsRegex(" \\+0x[0-9a-f]+ jump .*LINE: add \\*/  \\[add\\]\n"));
    EXPECT_THAT(lines_json("outer", lines),
                HasSubstr("\"functions\":[\"add\",\"outer\"],\"sites\":[{"));
}

TEST(TraceQuestion, MayBeALine) {
    Question asked;
    parse_place("fs/read_write.c:470", asked);
    ASSERT_TRUE(asked.line);
    EXPECT_EQ(asked.line->file, "fs/read_write.c");
    EXPECT_EQ(asked.line->line, 470U);
    EXPECT_EQ(asked.place(), "fs/read_write.c:470");
    EXPECT_EQ(asked.module(), "");
    parse_place("ext4:inode.c:12", asked);
    EXPECT_EQ(asked.module(), "ext4");
    EXPECT_EQ(asked.line->file, "inode.c");
    parse_place("ext4:ext4_readdir:+3", asked);
    EXPECT_EQ(asked.module(), "ext4");
    EXPECT_EQ(asked.line->function, "ext4_readdir");
    EXPECT_EQ(expect_error(ExitCode::kUsage, [&] { parse_place("vfs_read:470", asked); }),
              "'vfs_read:470': write vfs_read:+470 for a line that is counted from the function's, "
              "or FILE:470");
}

std::string contents(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(InlinedIndex, ThatACrashHasCutIsMadeAgain) {
    const Files files;
    setenv("XDG_CACHE_HOME", files.path().c_str(), 1);
    // With a build ID, by which it is kept.
    const std::string object = files.path() / "sample";
    ASSERT_EQ(std::system(("ld -r --build-id -o " + object + " " DJPROBE_LINES_OBJECT).c_str()), 0);
    const DwarfFile debug = DwarfFile::open(object);
    const std::string whole = InlinedIndex::of(debug).text();
    const std::filesystem::directory_iterator kept(files.path() / "djprobe");
    const std::string file = kept->path();
    const std::string text = contents(file);
    EXPECT_GT(text.size(), whole.size());
    for (std::size_t size = text.size(); size-- > 0;) {
        std::ofstream(file, std::ios::binary) << text.substr(0, size);
        EXPECT_EQ(InlinedIndex::of(debug).text(), whole) << "cut to " << size;
        EXPECT_EQ(contents(file), text);
    }
    EXPECT_EQ(InlinedIndex::of(debug).text(), whole);
    unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace djprobe::loader
