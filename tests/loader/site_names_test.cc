// SPDX-License-Identifier: GPL-2.0
#include "session/site_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "made_reports.h"
#include "session/probe_words.h"

namespace djprobe::loader {
namespace {

constexpr std::uint64_t kThere = 0xffffffffc0001005;

const Kallsyms& when_attached() {
    static const Kallsyms table =
        Kallsyms::parse("ffffffff81001000 T vfs_read\nffffffffc0001000 t ext4_readdir\t[ext4]\n");
    return table;
}

ProbeState gone(const char* name = "") {
    ProbeState query = {};
    query.state = DJPROBE_STATE_GONE;
    query.address = kThere;
    query.symbol = name;
    return query;
}

TEST(SiteNames, of_those_that_are_gone_are_what_was_there) {
    std::vector<ProbeState> probes = {gone(), probe()};
    probes[1].offset = 7;
    name_gone(when_attached(), probes);
    EXPECT_EQ(site_name(probes[0]), "ext4:ext4_readdir+0x5");
    EXPECT_EQ(site_name(probes[1]), "vfs_read+0x7") << "the kernel's own name";
}

TEST(SiteNames, a_stranger_in_the_same_place_is_not_shown) {
    std::vector<ProbeState> probes = {gone("a_function_of_another_module")};
    name_gone(when_attached(), probes);
    EXPECT_EQ(site_name(probes[0]), "ext4:ext4_readdir+0x5");
}

TEST(SiteNames, without_any_there_is_the_address) {
    std::vector<ProbeState> probes = {gone("a_function_of_another_module")};
    name_gone(Kallsyms::parse(""), probes);
    EXPECT_EQ(site_name(probes[0]), "0xffffffffc0001005");
}

TEST(SiteNames, of_another_process_are_those_that_it_keeps) {
    ProbeState there = gone("ext4_readdir");
    there.state = DJPROBE_STATE_ARMED;
    there.offset = 5;
    there.module = "ext4";
    SiteNames names;
    Symbolizer symbols(Kallsyms::parse("ffffffffc0002000 t ext4_open\t[ext4]\n"));
    ProbeState nameless = gone();
    nameless.address = 0xffffffffc0002009;
    add_module_names({there, nameless, probe()}, symbols, names);
    EXPECT_EQ(names, (SiteNames{{kThere, "ext4:ext4_readdir+0x5"},
                                {0xffffffffc0002009, "ext4:ext4_open+0x9"}}))
        << "the kernel's own functions do not go";

    const UniqueFd kept = keep_names(names);
    ASSERT_TRUE(kept);
    std::vector<ProbeState> probes = {gone(), nameless, probe()};
    name_kept(kept_names(getpid()), probes);
    EXPECT_EQ(site_name(probes[0]), "ext4:ext4_readdir+0x5");
    EXPECT_EQ(site_name(probes[1]), "ext4:ext4_open+0x9");
    EXPECT_EQ(site_name(probes[2]), "vfs_read+0x9");
}

TEST(SiteNames, that_make_no_sense_are_not_taken) {
    std::vector<ProbeState> probes = {gone()};
    name_kept({{kThere, "ext4+0x5"}}, probes);
    EXPECT_EQ(site_name(probes[0]), "0xffffffffc0001005");
    EXPECT_TRUE(kept_names(getpid()).empty());
}

TEST(SiteNames, are_kept_from_the_time_of_attaching) {
    std::vector<ProbeState> probes = {gone(), gone()};
    copy_names({probe()}, probes);
    EXPECT_EQ(site_name(probes[0]), "vfs_read+0x9");
    EXPECT_EQ(probes[0].address, kThere);
    EXPECT_EQ(site_name(probes[1]), "0xffffffffc0001005");
}

}  // namespace
}  // namespace djprobe::loader
