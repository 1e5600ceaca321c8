// SPDX-License-Identifier: GPL-2.0
// How the programs of `probeload trace` read the variables that debug information finds.
#include <gmock/gmock.h>

#include "object/object.h"
#include "temp_file.h"
#include "trace/compiled.h"
#include "trace/header.h"
#include "trace_questions.h"

namespace djprobe::loader {
namespace {

using TraceVariables = TraceQuestions;

// As debug information finds them at an instruction.
std::vector<SourceVariable> some_variables() {
    using Kind = Location::Kind;
    const SourceType number{{}, {{"", "long"}}, 8, true, true, true};
    const SourceType time{{}, {{"struct", "timespec64"}}, 16, false, false, true};
    const SourceType to_array{{{true, 0}, {false, 4}}, {{"", "int"}}, 4, true, true, true};
    Location kept{Kind::kValue, "given->di"};
    kept.given = {"di"};
    Location pieces{Kind::kWords};
    pieces.words = {"ctx->ax", "ctx->dx"};
    Location data{Kind::kMemory, "(unsigned long)&_text + 0x1000"};
    data.has_text_symbol = true;
    return {{"key", "vfs_read", number, {Kind::kValue, "ctx->bx"}},
            {"key_", "vfs_read", number, {Kind::kValue, "ctx->bp"}},
            {"first", "vfs_read", number, kept},
            {"when", "vfs_read", time, pieces},
            {"once", "vfs_read", number, data},
            {"rows", "vfs_read", to_array, {Kind::kMemory, "ctx->sp + 8", true}}};
}

Question with_variables(Question question) {
    TraceSite site{question.site, "fs/read_write.c:1, vfs_read", some_variables()};
    site.entry = SiteSpec{"vfs_read", 0, 0};
    site.frame = "ctx->sp + 32";
    question.sites.push_back(site);
    return question;
}

TEST_F(TraceVariables, takes_variables_from_wherever_they_are) {
    const Question asked = with_variables(
        question("vfs_read+0x2b", "key, key_, first, when, when.tv_sec, once, rows, (*rows)[1]"));
    const std::string text = source(asked);
    EXPECT_THAT(text, testing::HasSubstr("SEC(\"kprobe/vfs_read\")\nint begin_vfs_read("));
    EXPECT_THAT(text, testing::HasSubstr("__u64 frame = ctx->sp + 32;"));
    EXPECT_THAT(text, testing::HasSubstr("long int first = given->di;"));
    EXPECT_THAT(text, testing::HasSubstr("unsigned long when_words[2] = {ctx->ax, ctx->dx};"));
    EXPECT_THAT(text, testing::HasSubstr("extern const void _text __ksym;"));
    Types all = types();
    const TraceProgram program = write_program(asked, all);
    EXPECT_EQ(program.sites.size(), 2U);
    EXPECT_TRUE(program.keeps_entries);
    EXPECT_FALSE(
        write_program(with_variables(question("vfs_read+0x2b", "key")), all).keeps_entries);
    TempDir directory;
    const std::filesystem::path file =
        compiled(program.source, trace_header(all, program.types), trace_flags(all), directory);
    EXPECT_EQ(Object::open(file, false).programs().size(), 2U);
}

// A probe at the entry is there for who asks for it.
TEST_F(TraceVariables, of_all_variables_shows_those_at_hand) {
    const std::string text = source(with_variables(question("vfs_read+0x2b")));
    EXPECT_THAT(text, testing::HasSubstr("event->key_ = key_;"));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("given")));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("when")));
}

// At hundreds of sites a caller may have one of such a name.
TEST_F(TraceVariables, HideAWordOnlyWhereEachSiteHasThem) {
    const SourceType number{{}, {{"", "long"}}, 8, true, true, true};
    Question asked = question("vfs_read+0x2b", "func:x, cpu");
    TraceSite site{
        asked.site, "", {{"func", "vfs_read", number, {Location::Kind::kValue, "ctx->bx"}}}};
    asked.sites = {site};
    EXPECT_THAT(source(asked), testing::HasSubstr("long int func = ctx->bx;"));
    site.site.offset += 5;
    site.variables.clear();
    asked.sites.push_back(site);
    EXPECT_THAT(source(asked), testing::HasSubstr("unsigned long func = PT_REGS_IP(ctx);"));
}

}  // namespace
}  // namespace djprobe::loader
