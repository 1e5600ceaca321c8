// SPDX-License-Identifier: GPL-2.0
#include "session/report.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "made_reports.h"

namespace djprobe::loader {
namespace {

std::string attached(const AttachmentReport& report) {
    Symbolizer names = symbolizer();
    return attached_line(report, names);
}

std::string text(const AttachmentReport& report) {
    Symbolizer names = symbolizer();
    return report_text(report, names);
}

nlohmann::ordered_json json(const AttachmentReport& report) {
    Symbolizer names = symbolizer();
    return report_json(report, names);
}

// Functions named f1, f2, ... with as many hits.
AttachmentReport many(std::uint64_t count) {
    std::vector<ProbeState> probes(count, probe());
    for (std::uint64_t i = 0; i < count; ++i) {
        probes[i].hits = i + 1;
        probes[i].symbol = fmt::format("f{}", i + 1);
    }
    AttachmentReport functions = report(Covers::kGlob, "f*", probes);
    functions.functions = count;
    return functions;
}

constexpr const char* kReason =
    "a branch lands inside the 5 bytes (vfs_read.cold+0x12 -> vfs_read+0xb)";

TEST(AttachedLine, jump_and_int3_with_its_reason) {
    EXPECT_EQ(attached(at_site(probe())), "attached vfs_read+0x9 (0xffffffff81001009) by jump");
    EXPECT_EQ(attached(at_site(int3_probe())),
              fmt::format("attached vfs_read+0x9 (0xffffffff81001009) by int3: {}", kReason));
}

TEST(AttachedLine, names_the_module) {
    ProbeState query = probe();
    query.module = "ext4";
    EXPECT_EQ(attached(at_site(query)), "attached ext4:vfs_read+0x9 (0xffffffff81001009) by jump");
}

TEST(AttachedLine, interrupted_wait_is_no_final_word) {
    ProbeState query = int3_probe();
    query.state = DJPROBE_STATE_OPTIMIZING;
    EXPECT_EQ(attached(at_site(query)),
              "attached vfs_read+0x9 (0xffffffff81001009) by int3, the jump is pending");
}

TEST(AttachedLine, what_is_not_in_the_text_says_why) {
    EXPECT_EQ(attached(at_site(disabled_probe())),
              "attached vfs_read+0x9 (0xffffffff81001009), not in the text: the probe, or all "
              "probes, are disabled");
    EXPECT_EQ(text(at_site(disabled_probe())),
              "vfs_read+0x9: hits 100, missed 0, not in the text: the probe, or all probes, are "
              "disabled\n");
    AttachmentReport functions = report(Covers::kGlob, "vfs_*", {disabled_probe(), probe()});
    functions.functions = 2;
    EXPECT_EQ(attached(functions),
              "attached 2 functions like 'vfs_*', 1 not in the text (disabled 1), 1 by jump");
}

TEST(AttachedLine, no_address_where_the_kernel_hides_them) {
    ProbeState query = probe();
    query.address = 0;
    EXPECT_EQ(attached(at_site(query)), "attached vfs_read+0x9 by jump");
}

TEST(AttachedLine, returns_of_a_function) {
    EXPECT_EQ(attached(report(Covers::kReturns, "vfs_read", {probe(), probe(), probe()})),
              "attached vfs_read: 3 returns, by jump");
    EXPECT_EQ(attached(report(Covers::kReturns, "vfs_read", {probe()})),
              "attached vfs_read: 1 return, by jump");
    EXPECT_EQ(attached(report(Covers::kReturns, "vfs_read", {int3_probe(), probe(), probe()})),
              fmt::format("attached vfs_read: 3 returns, 2 by jump, 1 by int3: {}", kReason));
}

TEST(AttachedLine, returns_in_shadow_mode) {
    AttachmentReport returns = report(Covers::kReturns, "vfs_read", {probe()});
    returns.shadow = true;
    EXPECT_EQ(attached(returns), "attached vfs_read: returns in shadow mode, by jump");
    returns.total.missed[DJPROBE_MISS_NO_INSTANCE] = 2;
    EXPECT_EQ(text(returns),
              "vfs_read: returns in shadow mode, hits 100, missed 2 (no-instance 2), by jump\n");
    EXPECT_EQ(json(returns)["ret_mode"], "shadow");
    EXPECT_FALSE(json(returns).contains("returns")) << "its only probe is at the entry";
}

TEST(AttachedLine, functions_by_a_pattern_and_those_left_out) {
    AttachmentReport functions = report(Covers::kGlob, "vfs_*", {probe(), probe(), int3_probe()});
    functions.functions = 3;
    EXPECT_EQ(attached(functions),
              "attached 3 functions like 'vfs_*', 2 by jump, 1 by int3 (branch-into-region 1)");
    functions.left_out = {{DJPROBE_REASON_INIT_TEXT, 1}, {DJPROBE_REASON_BLACKLISTED, 3}};
    functions.probes = {probe()};
    functions.functions = 1;
    EXPECT_EQ(attached(functions),
              "attached 1 function like 'vfs_*', by jump; 4 left out: blacklisted 3, init-text 1");
}

TEST(AttachedLine, returns_of_functions_by_a_pattern) {
    AttachmentReport returns = report(Covers::kGlob, "vfs_*", {probe(), probe(), probe()});
    returns.at_returns = true;
    returns.functions = 2;
    EXPECT_EQ(attached(returns), "attached 3 returns of 2 functions like 'vfs_*', by jump");
    returns.shadows = 1;
    EXPECT_EQ(attached(returns),
              "attached 2 returns of 2 functions like 'vfs_*' (1 in shadow mode), by jump");
    EXPECT_EQ(json(returns)["functions"], 2);
    EXPECT_EQ(json(returns)["returns"], 2);
    EXPECT_EQ(json(returns)["in_shadow_mode"], 1);
}

TEST(ReportText, returns_are_summed) {
    AttachmentReport returns = report(Covers::kReturns, "vfs_read", {probe(), probe(), probe()});
    EXPECT_EQ(text(returns), "vfs_read: 3 returns, hits 300, missed 0, by jump\n");
    returns.total.missed[DJPROBE_MISS_RECURSION] = 2;
    returns.total.missed[DJPROBE_MISS_BPF_BUSY] = 3;
    EXPECT_EQ(text(returns),
              "vfs_read: 3 returns, hits 300, missed 5 (recursion 2, bpf-busy 3), by jump\n");
}

TEST(ReportText, of_many_functions_the_ten_with_the_most_hits) {
    const std::string lines = text(many(12));
    EXPECT_EQ(lines.substr(0, lines.find('\n')),
              "12 functions like 'f*', hits 78, missed 0, by jump");
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 11);
    const auto first = lines.find("  f12+0x9: hits 12, missed 0, by jump\n");
    const auto last = lines.find("  f3+0x9: hits 3, missed 0, by jump\n");
    EXPECT_LT(first, last);
    EXPECT_NE(last, lines.npos);
    EXPECT_EQ(lines.find("f2+"), lines.npos);
}

TEST(ReportText, as_many_as_asked_for) {
    AttachmentReport functions = many(12);
    functions.top = 11;
    EXPECT_NE(text(functions).find("  f2+0x9: hits 2, missed 0, by jump\n"), std::string::npos);
    EXPECT_EQ(json(functions)["top"].size(), 11U);
    functions.top = 0;
    const std::string lines = text(functions);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
}

TEST(ReportText, what_a_probe_sees) {
    Symbolizer names = symbolizer();
    ProbeState seen = probe();
    seen.flags = DJPROBE_ATTACH_RETURN;
    EXPECT_EQ(probe_line(seen, names), "vfs_read+0x9 (return): hits 100, missed 0, by jump\n");
    EXPECT_EQ(probe_json(seen, "p", names)["ret_mode"], "exact");
    EXPECT_FALSE(probe_json(seen, "p", names).contains("filtered"));
    ProbeState filtered = seen;
    filtered.flags = DJPROBE_ATTACH_FILTERED;
    EXPECT_EQ(probe_json(filtered, "p", names)["filtered"], true);
    seen.flags |= DJPROBE_ATTACH_SHADOW;
    EXPECT_EQ(probe_line(seen, names), "vfs_read+0x9 (returns): hits 100, missed 0, by jump\n");
    EXPECT_EQ(probe_json(seen, "p", names)["ret_mode"], "shadow");
}

// Another process may have kept the name.
TEST(ReportText, a_probe_is_a_line_whatever_its_name_is) {
    Symbolizer names = symbolizer();
    ProbeState seen = probe();
    seen.symbol = "f\x1b[31m\nx";
    EXPECT_EQ(probe_line(seen, names), "f\\x1b[31m\\x0ax+0x9: hits 100, missed 0, by jump\n");
}

TEST(ReportText, functions_without_a_hit_are_not_listed) {
    AttachmentReport functions = many(3);
    functions.probes[1].hits = 0;
    const std::string lines = text(functions);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
    EXPECT_EQ(lines.find("f2+"), lines.npos);
}

TEST(ReportJson, returns_with_their_sites) {
    const auto returns = json(report(Covers::kReturns, "vfs_read", {probe(), int3_probe()}));
    EXPECT_EQ(returns["kind"], "function");
    EXPECT_EQ(returns["function"], "vfs_read");
    EXPECT_EQ(returns["program"], "on_hit");
    EXPECT_EQ(returns["ret_mode"], "exact");
    EXPECT_EQ(returns["returns"], 2);
    EXPECT_EQ(returns["mechanisms"], (nlohmann::ordered_json{{"jump", 1}, {"int3", 1}}));
    EXPECT_EQ(returns["hits"], 200);
    EXPECT_EQ(returns["missed"]["recursion"], 0);
    EXPECT_EQ(returns["sites"].size(), 2U);
    EXPECT_EQ(returns["sites"][1]["reason"], "branch-into-region");
}

TEST(ReportJson, functions_with_reasons_and_the_top) {
    AttachmentReport functions = many(12);
    functions.probes.push_back(int3_probe());
    ++functions.functions;
    functions.left_out = {{DJPROBE_REASON_BLACKLISTED, 3}};
    const auto object = json(functions);
    EXPECT_EQ(object["kind"], "glob");
    EXPECT_EQ(object["glob"], "f*");
    EXPECT_EQ(object["functions"], 13);
    EXPECT_EQ(object["mechanisms"], (nlohmann::ordered_json{{"jump", 12}, {"int3", 1}}));
    EXPECT_EQ(object["int3_reasons"]["branch-into-region"], 1);
    EXPECT_EQ(object["left_out"]["blacklisted"], 3);
    EXPECT_EQ(object["top"].size(), 10U);
    EXPECT_EQ(object["top"][0]["hits"], 100);
    EXPECT_EQ(object["top"][1]["site"], "f12+0x9");
}

}  // namespace
}  // namespace djprobe::loader
