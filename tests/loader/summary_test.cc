// SPDX-License-Identifier: GPL-2.0
#include "session/summary.h"

#include <gtest/gtest.h>

#include "made_reports.h"

namespace djprobe::loader {
namespace {

std::string text(const Summary& summary) {
    Symbolizer names = symbolizer();
    return summary_text(summary, names);
}

nlohmann::ordered_json json(const Summary& summary) {
    Symbolizer names = symbolizer();
    return nlohmann::ordered_json::parse(summary_json(summary, names).dump());
}

TEST(Summary, counts_hits_misses_and_events) {
    Summary summary;
    summary.attachments = {at_site(probe())};
    summary.received = 99;
    summary.loss = Loss{1, 0};
    EXPECT_EQ(text(summary),
              "vfs_read+0x9: hits 100, missed 0, by jump\n"
              "events: 99 received, 1 lost\n");
}

TEST(Summary, missed_by_cause_even_by_one_that_is_newer) {
    Summary summary;
    summary.attachments = {at_site(probe())};
    summary.attachments[0].probes[0].missed[DJPROBE_MISS_RECURSION] = 2;
    summary.attachments[0].probes[0].missed[DJPROBE_MISS_BPF_BUSY] = 3;
    summary.attachments[0].probes[0].missed[7] = 4;
    EXPECT_EQ(text(summary),
              "vfs_read+0x9: hits 100, missed 9 (recursion 2, bpf-busy 3, cause-7 4), by jump\n");
    EXPECT_EQ(
        json(summary)["probes"][0]["missed"],
        (nlohmann::ordered_json{
            {"recursion", 2}, {"bpf-busy", 3}, {"nmi", 0}, {"no-instance", 0}, {"cause-7", 4}}));
}

TEST(Summary, unknown_loss_has_a_bound_and_says_what_to_add) {
    Summary summary;
    summary.received = 90;
    summary.loss = Loss{std::nullopt, 10};
    EXPECT_EQ(text(summary),
              "events: 90 received, lost unknown (at most 10 if each hit sends one; add a global "
              "'__u64 lost' and count failed reserves in it)\n");
    EXPECT_TRUE(json(summary)["events"]["lost"].is_null());
    EXPECT_EQ(json(summary)["events"]["lost_at_most"], 10);
}

TEST(Summary, site_whose_module_went_away) {
    Summary summary;
    summary.attachments = {at_site(probe())};
    summary.attachments[0].probes[0].state = DJPROBE_STATE_GONE;
    summary.attachments[0].probes[0].mechanism = DJPROBE_MECHANISM_NONE;
    EXPECT_EQ(text(summary),
              "vfs_read+0x9: hits 100, missed 0, not in the text: its module was unloaded\n");
}

TEST(Summary, maps_of_a_program_that_sends_nothing) {
    Summary summary;
    summary.maps.entries = {{"count", "0", "1234", 0, 1234}};
    EXPECT_EQ(text(summary), "count[0] = 1234\n");
    EXPECT_EQ(json(summary)["maps"]["count"][0]["value"], 1234);
    EXPECT_FALSE(json(summary).contains("events"));
}

TEST(Summary, variables_and_what_is_drawn_of_them) {
    Summary summary;
    summary.variables = {{"hist", "[0, 2]", "  2 -> 3 |**|\n", {0, 2}}};
    summary.maps.entries = {{"stacks", "7", "1 frame", 7, {"vfs_read+0x1"}, "    vfs_read+0x1\n"}};
    EXPECT_EQ(text(summary),
              "hist = [0, 2]\n  2 -> 3 |**|\nstacks[7] = 1 frame\n    vfs_read+0x1\n");
    EXPECT_EQ(json(summary)["variables"]["hist"][1], 2);
    EXPECT_EQ(json(summary)["maps"]["stacks"][0]["value"][0], "vfs_read+0x1");
}

TEST(Summary, command_by_status_and_by_signal) {
    Summary summary;
    summary.command_status = 3 << 8;
    EXPECT_EQ(text(summary), "command: ended with status 3\n");
    EXPECT_EQ(json(summary)["command"]["status"], 3);
    summary.command_status = 127 << 8;
    EXPECT_EQ(text(summary), "command: ended with status 127 (the shell's word for: not found)\n");
    summary.command_status = 15;
    EXPECT_EQ(text(summary), "command: ended with signal 15 (Terminated)\n");
    EXPECT_EQ(json(summary)["command"]["signal"], 15);
}

TEST(Summary, of_a_snapshot_tells_when) {
    Summary snapshot;
    snapshot.seconds = 2.25;
    snapshot.attachments = {at_site(probe())};
    snapshot.maps.entries = {{"count", "0", "1234", 0, 1234}};
    EXPECT_EQ(text(snapshot),
              "snapshot after 2.2 s:\n"
              "count[0] = 1234\n"
              "vfs_read+0x9: hits 100, missed 0, by jump\n");
    EXPECT_EQ(json(snapshot)["type"], "snapshot");
    EXPECT_EQ(json(snapshot)["seconds"], 2.25);
    EXPECT_EQ(json(snapshot)["probes"][0]["hits"], 100);
}

TEST(Summary, json_tells_all_of_a_probe) {
    Summary summary;
    summary.attachments = {at_site(int3_probe())};
    const auto object = json(summary);
    EXPECT_EQ(object["type"], "summary");
    const auto& first = object["probes"][0];
    EXPECT_EQ(first["kind"], "site");
    EXPECT_EQ(first["site"], "vfs_read+0x9");
    EXPECT_EQ(first["address"], "0xffffffff81001009");
    EXPECT_EQ(first["program"], "on_hit");
    EXPECT_EQ(first["state"], "armed");
    EXPECT_EQ(first["mechanism"], "int3");
    EXPECT_EQ(first["reason"], "branch-into-region");
    EXPECT_EQ(first["hits"], 100);
    EXPECT_EQ(first["displaced"], "554889e590");
}

}  // namespace
}  // namespace djprobe::loader
