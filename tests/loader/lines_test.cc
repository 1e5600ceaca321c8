// SPDX-License-Identifier: GPL-2.0
// Lines and their variables by DWARF, of lines_sample.c.
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
#include "lines_fixture.h"
#include "temp_file.h"
#include "trace/find_sites.h"

namespace djprobe::loader {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Location::Kind;

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

// A macro makes two functions on a line, one inlined in the other: a call of both is one event.
TEST_F(Lines, OfWhatAMacroMakesAreTheInnermostFunctions) {
    const Question question = find(place("made"));
    ASSERT_EQ(question.sites.size(), 1U);
    const TraceSite& site = question.sites.front();
    EXPECT_THAT(site.about, testing::EndsWith(", do_made in made"));
    EXPECT_EQ(variable(site, "number").function, "do_made");
    EXPECT_EQ(find("made:+0").sites.front().site, site.site);
    // Where that takes no probe, the other does.
    const Question other = find(place("made"), [&](const SiteSpec& one) -> Judged {
        return one == site.site ? Judged{.refused = "no"} : Judged{};
    });
    ASSERT_EQ(other.sites.size(), 1U);
    EXPECT_THAT(other.sites.front().about, testing::EndsWith("made"));
}

// All their statements have one place in the source. What a function calls on its own line is a
// part of it, whichever functions are between.
TEST_F(Lines, ThatAMacroWritesWholeFunctionsOnAreTheirCalls) {
    const Question question = find(place("whole"));
    std::vector<std::string> functions;
    for (const TraceSite& site : question.sites)
        functions.push_back(site.about.substr(site.about.find(", ") + 2));
    const char* const step = "whole_step in once_each in calls_whole";
    const char* const inlined = "whole_inlined in calls_whole";
    EXPECT_THAT(functions, testing::UnorderedElementsAre("whole", inlined, inlined, step, step));
    const auto whole = std::ranges::find(question.sites, "whole",
                                         [](const TraceSite& site) { return site.site.symbol; });
    ASSERT_NE(whole, question.sites.end());
    EXPECT_EQ(whole->site.offset, 0U);
    EXPECT_EQ(variable(*whole, "number").location.text, "ctx->di");
}

// Each copy is another call, also on the line on which the function begins.
TEST_F(Lines, AreFoundInEachCopyThatTheCompilerHasMade) {
    EXPECT_EQ(find(place("repeated")).sites.size(), 4U);
    EXPECT_EQ(find("lines_sample.c:" + std::to_string(line("repeated") + 1)).sites.size(), 4U);
    EXPECT_EQ(find(place("head")).sites.size(), 3U);
}

// The compiler may move a part of a line out of the function that was inlined. It may be a copy,
// too: how control goes tells the one from the other.
TEST_F(Lines, AreNoEventBesideThemselvesWhereAPartHasMoved) {
    const auto sites_where = [&](const SiteFlow& flow) {
        Question question;
        parse_place(place("early"), question);
        find_sites(debug_, {.judge = accept, .flow = flow}, question, notes_);
        return question.sites;
    };
    const std::vector<TraceSite> both = sites_where({});
    ASSERT_EQ(both.size(), 2U);
    EXPECT_THAT(both.front().about, testing::EndsWith(", early in moving"));
    EXPECT_THAT(both.back().about, testing::EndsWith(", moving"));
    const SiteSpec inlined = both.front().site, moved = both.back().site;
    const auto as_often = [&](const SiteSpec& site, const std::vector<SiteSpec>& together) {
        return site == moved && together == std::vector{inlined};
    };
    const auto sites = [&](const SiteFlow& flow) {
        std::vector<SiteSpec> sites;
        for (const TraceSite& one : sites_where(flow))
            sites.push_back(one.site);
        return sites;
    };
    EXPECT_THAT(sites({.runs_as_often = as_often}), ElementsAre(inlined));
    const auto only = [](const SiteSpec& one, const SiteSpec& other) {
        return [=](const SiteSpec& site, const SiteSpec& by) { return site == one && by == other; };
    };
    EXPECT_THAT(sites({.comes_by = only(moved, inlined)}), ElementsAre(inlined));
    EXPECT_THAT(sites({.leads_to = only(moved, inlined)}), ElementsAre(inlined));
    // Where ways meet again, also those that do not run the line.
    EXPECT_THAT(sites({.leads_to = only(inlined, moved)}), ElementsAre(inlined));
    // The head of a condition, for instance.
    EXPECT_THAT(sites({.comes_by = only(inlined, moved)}), ElementsAre(moved));
}

// Parts of one statement that run together are one event, as far as the running kernel shows that.
TEST_F(Lines, HaveNoTwoPlacesThatRunTogether) {
    Question question;
    parse_place(place("repeated"), question);
    const auto comes_by = [](const SiteSpec& one, const SiteSpec& other) {
        return one.offset > other.offset;
    };
    find_sites(debug_, {.judge = accept, .flow = {.comes_by = comes_by}}, question, notes_);
    const std::vector<TraceSite> all = find(place("repeated")).sites;
    ASSERT_EQ(all.size(), 4U);
    ASSERT_EQ(question.sites.size(), 1U);
    for (const TraceSite& site : all)
        EXPECT_LE(question.sites.front().site.offset, site.site.offset);
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
    const std::uint64_t start = *debug_.address_of("shadowed");
    unsigned inlined = 0;
    for (std::uint64_t address = start; address < start + 0x20; ++address) {
        std::vector<Dwarf_Die> scopes = debug_.scopes_at(address);
        const auto is_once = [](Dwarf_Die& scope) {
            const char* const name = dwarf_diename(&scope);
            return name && name == std::string_view("once");
        };
        if (std::ranges::none_of(scopes, is_once)) continue;
        ++inlined;
        const auto variables = variables_at(debug_, address, dwarf_dieoffset(&scopes.front()));
        const auto seen = std::ranges::find(variables, "seen", &SourceVariable::name);
        ASSERT_NE(seen, variables.end());
        EXPECT_EQ(seen->function, "once");
        EXPECT_EQ(seen->location.kind, Kind::kNone) << "the file is no kernel";
    }
    EXPECT_GT(inlined, 0U);
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
    const Question question = find_inlined("add");
    ASSERT_EQ(question.sites.size(), 2U);
    std::vector<std::string> steps;
    for (const TraceSite& site : question.sites) {
        EXPECT_THAT(site.about, testing::EndsWith(", add in outer"));
        steps.push_back(variable(site, "step").location.text);
    }
    EXPECT_THAT(steps, ElementsAre("1", "2"));
    EXPECT_THAT(expect_error(ExitCode::kNoSuchSite, [&] { find_inlined("outer"); }),
                HasSubstr("it is a function of its own: probeload trace outer"));
    EXPECT_THAT(expect_error(ExitCode::kNoSuchSite, [&] { find_inlined("ad"); }),
                HasSubstr("no function of this name that was inlined; did you mean add?"));
}

// The debug information names one begin for each instance. The running kernel shows which others
// are copies of it.
TEST_F(Lines, OfAnInlinedFunctionHaveItsCopies) {
    const std::vector<TraceSite> one = find_inlined("put").sites;
    ASSERT_EQ(one.size(), 1U);
    const auto is = [](const SiteSpec&, const SiteSpec&) { return true; };
    const std::vector<TraceSite> both = find_inlined("put", {.runs_instead_of = is}).sites;
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both.front().site, one.front().site);
    EXPECT_THAT(both.back().about, testing::EndsWith(", put in using"));
    EXPECT_EQ(variable(both.back(), "flags").function, "put");
    // A line has all of them in any case.
    std::vector<SiteSpec> of_line;
    for (const TraceSite& site : find("lines_sample.c:" + std::to_string(line("put"))).sites)
        of_line.push_back(site.site);
    EXPECT_THAT(of_line, ElementsAre(both.front().site, both.back().site));
}

TEST_F(Lines, OfAFunctionInlinedInItselfAreItsFirstPart) {
    const Question question = find_inlined("split");
    ASSERT_EQ(question.sites.size(), 1U);
    EXPECT_THAT(question.sites.front().about, testing::EndsWith(", split in splitting"));
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
    EXPECT_THAT(expect_error(ExitCode::kNoSuchSite, [&] { find("shadwoed:+1"); }),
                HasSubstr("has no function shadwoed; did you mean shadowed?"));
}

// The next line of the file may be another function's.
TEST_F(Lines, CountedFromAFunctionEndWithIt) {
    EXPECT_THAT(expect_error(ExitCode::kNoSuchSite, [&] { find("shadowed:+100"); }),
                testing::ContainsRegex("^shadowed:\\+100: is beyond the function's last statement, "
                                       "which begins at shadowed:\\+[1-3] \\("));
    EXPECT_THAT(expect_error(ExitCode::kNoSuchSite, [&] { find("outer:+4"); }),
                testing::ContainsRegex("^outer:\\+4: no statement begins there: the next line on "
                                       "which one does is outer:\\+5 \\("));
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
