// SPDX-License-Identifier: GPL-2.0
#include "session/targets.h"

#include "expect_error.h"

namespace djprobe::loader {
namespace {

const Program kEntry{nullptr, "on_entry", "kprobe/vfs_read"};
const Program kReturn{nullptr, "on_return", "kretprobe/vfs_read"};
const Program kBareReturn{nullptr, "bare_return", "kretprobe"};

std::string error(const AttachOptions& options, const Program& program) {
    return expect_error(ExitCode::kUsage, [&] { choose_targets(options, {program}); });
}

TEST(Targets, sections_say_where_and_at_which_end) {
    const auto targets = choose_targets({}, {kEntry, kReturn});
    ASSERT_EQ(targets.size(), 2U);
    EXPECT_EQ(targets[0].site.str(), "vfs_read");
    EXPECT_FALSE(targets[0].at_returns);
    EXPECT_EQ(targets[1].program.name, "on_return");
    EXPECT_TRUE(targets[1].at_returns);
}

TEST(Targets, command_line_comes_before_the_section) {
    AttachOptions options;
    options.sites = {parse_function("vfs_write"), parse_function("vfs_open")};
    const auto targets = choose_targets(options, {kReturn});
    ASSERT_EQ(targets.size(), 2U);
    EXPECT_EQ(targets[1].site.symbol, "vfs_open");
    EXPECT_TRUE(targets[1].at_returns);
}

TEST(Targets, ret_makes_any_program_one_for_returns) {
    AttachOptions options;
    options.at_returns = true;
    EXPECT_TRUE(choose_targets(options, {kEntry}).front().at_returns);
}

TEST(Targets, bare_section_needs_a_function) {
    EXPECT_EQ(
        error({}, kBareReturn),
        "program 'bare_return': its SEC(\"kretprobe\") names no function: give --func SYM or --at "
        "bare_return=SYM, or write SEC(\"kretprobe/SYM\")");
}

TEST(Targets, section_with_a_wrong_place_names_its_program) {
    EXPECT_EQ(error({}, {nullptr, "on_hit", "kprobe/vfs_read+zz"}),
              "program 'on_hit', SEC(\"kprobe/vfs_read+zz\"): 'vfs_read+zz': the offset 'zz' is no "
              "number of 64 bits, decimal or 0x-hexadecimal");
}

TEST(Targets, returns_are_those_of_one_whole_function) {
    AttachOptions options;
    options.sites = {parse_function("vfs_read+0x10")};
    EXPECT_EQ(error(options, kBareReturn),
              "vfs_read+0x10: returns are those of a whole function: name it without +0x10");
    options.sites = {parse_function("vfs_*")};
    const auto targets = choose_targets(options, {kBareReturn});
    ASSERT_EQ(targets.size(), 1U);
    EXPECT_TRUE(targets[0].at_returns);
    EXPECT_TRUE(targets[0].site.is_glob());
}

TEST(Targets, a_session_is_made_of_both_ends_of_a_function) {
    AttachOptions options;
    options.session = true;
    const auto targets = choose_targets(options, {kEntry, kReturn});
    ASSERT_EQ(targets.size(), 1U);
    EXPECT_EQ(targets[0].program.name, "on_return");
    EXPECT_TRUE(targets[0].at_returns);
    ASSERT_TRUE(targets[0].entry);
    EXPECT_EQ(targets[0].entry->name, "on_entry");
    EXPECT_EQ(error(options, kReturn),
              "--session: no program for the entry of 'vfs_read', to go with 'on_return': "
              "SEC(\"kprobe\")");
    EXPECT_EQ(error(options, kEntry),
              "--session: no program for the return of 'vfs_read', to go with 'on_entry': "
              "SEC(\"kretprobe\")");
    options.return_mode = ReturnMode::kExact;
    EXPECT_EQ(error(options, kReturn),
              "--session: is in shadow mode always: leave out --ret-mode exact");
}

TEST(Targets, a_session_is_not_at_returns_only) {
    AttachOptions options;
    options.session = options.at_returns = true;
    EXPECT_EQ(expect_error(ExitCode::kUsage,
                           [&] {
                               choose_targets(options, {kEntry, kReturn});
                           }),
              "--session has a program at the entry and one at the returns: leave out --ret, which "
              "makes all of them programs for returns");
}

TEST(Targets, sessions_of_many_functions_and_where_the_command_line_says) {
    AttachOptions options;
    options.session = true;
    options.sites = {parse_function("vfs_write"), parse_function("tcp_*")};
    const auto targets = choose_targets(options, {kEntry, kBareReturn});
    ASSERT_EQ(targets.size(), 2U);
    for (const std::size_t i : {0U, 1U}) {
        EXPECT_EQ(targets[i].site.str(), options.sites[i].str());
        EXPECT_EQ(targets[i].program.name, "bare_return");
        ASSERT_TRUE(targets[i].entry);
        EXPECT_EQ(targets[i].entry->name, "on_entry");
    }
    EXPECT_EQ(error(options, kBareReturn),
              "--session: no program for the entry of 'vfs_write', to go with 'bare_return': "
              "SEC(\"kprobe\")");
}

std::string sites(const std::vector<Target>& targets) {
    std::string text;
    for (const Target& target : targets)
        text += (text.empty() ? "" : " ") + target.program.name + "@" + target.site.str() +
                (target.at_returns ? "(ret)" : "");
    return text;
}

TEST(Targets, both_ends_of_a_function_go_to_one_place) {
    AttachOptions options;
    options.sites = {parse_function("vfs_write"), parse_function("tcp_*")};
    EXPECT_EQ(sites(choose_targets(options, {kEntry, kBareReturn})),
              "on_entry@vfs_write on_entry@tcp_* bare_return@vfs_write(ret) "
              "bare_return@tcp_*(ret)");
}

TEST(Targets, several_programs_for_one_place_are_to_be_chosen_or_bound) {
    AttachOptions options;
    options.sites = {parse_function("vfs_write")};
    const auto refused = [&](const std::vector<Program>& programs) {
        return expect_error(ExitCode::kUsage, [&] { choose_targets(options, programs); });
    };
    EXPECT_EQ(refused({kEntry, kEntry}),
              "several programs: choose one with --prog, or bind each to its place with --at "
              "PROG=SITE: on_entry (SEC \"kprobe/vfs_read\"), on_entry (SEC "
              "\"kprobe/vfs_read\")");
    EXPECT_EQ(refused({kEntry, kEntry, kReturn}).find("several programs"), 0U);
    options.at_returns = true;
    EXPECT_EQ(refused({kEntry, kReturn}).find("several programs"), 0U);
    // Who names them means it.
    options.at_returns = false;
    options.programs = {"on_entry"};
    EXPECT_EQ(choose_targets(options, {kEntry, kEntry}).size(), 2U);
}

TEST(Targets, places_of_a_program_come_before_all_others) {
    AttachOptions options;
    options.sites = {parse_function("vfs_write")};
    const Program bound{nullptr, "bound", "kprobe/vfs_read", {"vfs_open+0x10", "0xffff0000"}};
    EXPECT_EQ(sites(choose_targets(options, {bound, kEntry})),
              "bound@vfs_open+0x10 bound@0xffff0000 on_entry@vfs_write");
    EXPECT_FALSE(choose_targets({}, {bound}).front().by_section);
    EXPECT_TRUE(choose_targets({}, {kEntry}).front().by_section);
}

TEST(Targets, what_has_no_place_is_left_out_where_that_is_asked_for) {
    AttachOptions options;
    options.skip_unsupported = true;
    testing::internal::CaptureStderr();
    EXPECT_EQ(sites(choose_targets(options, {kBareReturn, kEntry})), "on_entry@vfs_read");
    EXPECT_EQ(
        testing::internal::GetCapturedStderr(),
        "probeload: left out: program 'bare_return': its SEC(\"kretprobe\") names no function: "
        "give --func SYM or --at bare_return=SYM, or write SEC(\"kretprobe/SYM\")\n");
}

TEST(Targets, what_has_a_wrong_place_is_left_out_where_that_is_asked_for) {
    const Program inside{nullptr, "inside", "kretprobe/vfs_read+0x3"};
    const Program misspelt{nullptr, "misspelt", "kprobe/vfs_read+zz"};
    EXPECT_EQ(
        error({}, inside),
        "program 'inside', SEC(\"kretprobe/vfs_read+0x3\"): vfs_read+0x3: returns are those of "
        "a whole function: name it without +0x3");
    AttachOptions options;
    options.skip_unsupported = true;
    testing::internal::CaptureStderr();
    EXPECT_EQ(sites(choose_targets(options, {inside, kEntry, misspelt})), "on_entry@vfs_read");
    EXPECT_EQ(
        testing::internal::GetCapturedStderr(),
        "probeload: left out: program 'inside', SEC(\"kretprobe/vfs_read+0x3\"): vfs_read+0x3: "
        "returns are those of a whole function: name it without +0x3\n"
        "probeload: left out: program 'misspelt', SEC(\"kprobe/vfs_read+zz\"): 'vfs_read+zz': "
        "the offset 'zz' is no number of 64 bits, decimal or 0x-hexadecimal\n");
}

TEST(Targets, mode_of_returns_without_returns) {
    AttachOptions options;
    options.return_mode = ReturnMode::kExact;
    EXPECT_EQ(error(options, kEntry),
              "--ret-mode: nothing is attached at returns: add --ret, or use "
              "SEC(\"kretprobe/SYM\")");
    EXPECT_EQ(choose_targets(options, {kReturn}).size(), 1U);
}

}  // namespace
}  // namespace djprobe::loader
