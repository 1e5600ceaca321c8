// SPDX-License-Identifier: GPL-2.0
#include "count/count_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "kernel/device.h"
#include "made_reports.h"

namespace djprobe::loader {
namespace {

ProbeState counted(const char* symbol, std::uint64_t hits, std::size_t counter,
                   std::uint64_t offset = 5) {
    ProbeState query = probe();
    query.symbol = symbol;
    query.offset = offset;
    query.hits = hits;
    query.cookie = counter_name(counter);
    query.flags = DJPROBE_ATTACH_COUNT;
    return query;
}

std::vector<AttachmentReport> reports(std::uint64_t more = 0) {
    return {report(Covers::kGlob, "vfs_*",
                   {counted("vfs_read", 3 + more, 0), counted("vfs_write", 7, 1),
                    counted("vfs_open", 0, 2)}),
            at_site(counted("vfs_read", 5, 3, 0x2b))};
}

TEST(CountTable, has_the_highest_counts_first_and_none_without_a_hit) {
    Symbolizer names = symbolizer();
    Counts counts;
    counts.look(reports());
    EXPECT_EQ(counts.total(), 15U);
    EXPECT_EQ(count_table(counts.top(20, names), 0),
              "         COUNT  SITE\n"
              "             7  vfs_write\n"
              "             5  vfs_read+0x2b\n"
              "             3  vfs_read\n");
    EXPECT_EQ(counts.top(1, names).size(), 1U);
}

TEST(CountTable, has_rates_of_what_came_since_the_last_look) {
    Symbolizer names = symbolizer();
    Counts counts;
    counts.look(reports());
    counts.look(reports(20));
    EXPECT_EQ(count_table(counts.top(2, names), 2),
              "         COUNT   PER SECOND  SITE\n"
              "            23           10  vfs_read\n"
              "             7            0  vfs_write\n");
}

TEST(CountTable, is_a_line_of_json) {
    Symbolizer names = symbolizer();
    Counts counts;
    counts.look(reports());
    const auto json = nlohmann::json::parse(count_json(counts.top(1, names), 15, 0.5));
    EXPECT_EQ(json.dump(),
              R"({"seconds":0.5,"top":[{"address":"0xffffffff81001009","count":7,"new":7,)"
              R"("site":"vfs_write"}],"total":15,)"
              R"("type":"counts"})");
}

TEST(CountTable, tells_functions_of_one_name_apart) {
    Symbolizer names = symbolizer();
    ProbeState first = counted("m_start", 2, 0), second = counted("m_start", 1, 1);
    first.address = 0xffffffff81000015;
    second.address = 0xffffffff81000025;
    Counts counts;
    counts.look({report(Covers::kGlob, "m_*", {first, second, counted("m_next", 3, 2)})});
    EXPECT_EQ(count_table(counts.top(20, names), 0),
              "         COUNT  SITE\n"
              "             3  m_next\n"
              "             2  m_start (0xffffffff81000015)\n"
              "             1  m_start (0xffffffff81000025)\n");
}

TEST(CountTable, names_of_counters_are_places_in_a_map) {
    std::set<std::uint64_t> names;
    for (std::size_t i = 0; i < 3 * kCountersPerValue; ++i) {
        names.insert(counter_name(i));
        EXPECT_EQ(counter_name(i) & 7, 0U);
        EXPECT_LT(counter_name(i) & 0xffffffff, kCountersPerValue * 8);
    }
    EXPECT_EQ(names.size(), 3 * kCountersPerValue);
    EXPECT_EQ(counter_name(kCountersPerValue), DJPROBE_COUNTER(1, 0));
}

}  // namespace
}  // namespace djprobe::loader
