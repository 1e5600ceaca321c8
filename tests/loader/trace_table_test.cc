// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "expect_error.h"
#include "trace/table.h"
#include "trace/trace_session.h"

namespace djprobe::loader {
namespace {

using Kind = Aggregation::Kind;

KeyPart part(const char* name, const char* text, std::vector<std::string> frames = {}) {
    return {name, text, "\"" + std::string(text) + "\"", std::move(frames)};
}

std::vector<Result> two_results() {
    Result first{{part("comm", "dd, \"x\"")}, 2, static_cast<std::uint64_t>(-7)};
    Result second{{part("comm", "cat")}, 4, 10};
    return {first, second};
}

TEST(TraceTable, has_a_column_for_each_part_of_the_key) {
    EXPECT_EQ(table_text(two_results(), {.kind = Kind::kCount}),
              "         COUNT  COMM\n"
              "             2  dd, \"x\"\n"
              "             4  cat\n");
    EXPECT_EQ(table_text(two_results(), {.kind = Kind::kSum, .is_signed = true}),
              "           SUM          COUNT  COMM\n"
              "            -7              2  dd, \"x\"\n"
              "            10              4  cat\n");
    const std::string unsigned_text = table_text(two_results(), {.kind = Kind::kMost});
    EXPECT_NE(unsigned_text.find("18446744073709551609"), std::string::npos);
    EXPECT_EQ(table_text({}, {.kind = Kind::kCount}), "         COUNT\n");
}

TEST(TraceTable, averages_with_the_sign) {
    const TableStyle style{.style = Style::kCsv, .kind = Kind::kAverage, .is_signed = true};
    EXPECT_EQ(table_text(two_results(), style),
              "avg,count,comm\n-3.5,2,\"dd, \"\"x\"\"\"\n2.5,4,cat\n");
}

TEST(TraceTable, draws_histograms) {
    Result result{{part("comm", "dd")}, 6, 0, 2};
    result.slots.resize(64);
    result.slots[3] = 4;
    const std::string text = table_text({result}, {.kind = Kind::kHistogram});
    EXPECT_NE(text.find("    below 0: 2\n"), std::string::npos) << text;
    EXPECT_NE(text.find("8 -> 15"), std::string::npos) << text;
    const auto json = nlohmann::json::parse(
        table_text({result}, {.style = Style::kJson, .kind = Kind::kHistogram}));
    EXPECT_EQ(json["type"], "results");
    const auto& one = json["results"][0];
    EXPECT_EQ(one["key"]["comm"], "dd");
    EXPECT_EQ(one["negative"], 2);
    EXPECT_EQ(one["slots"][0]["from"], 8);
    EXPECT_EQ(one["slots"][0]["to"], 15);
    EXPECT_EQ(one["slots"][0]["count"], 4);
    EXPECT_EQ(table_text({result}, {.style = Style::kCsv, .kind = Kind::kHistogram}),
              "from,to,count,comm\n,-1,2,dd\n8,15,4,dd\n");
}

TEST(TraceTable, shows_stacks_below_and_folds_them_from_the_outermost_frame) {
    const Result result{
        {part("comm", "dd"), part("kstack", "7", {"vfs_read+0x5", "ksys_read+0x6b"})}, 3};
    EXPECT_EQ(table_text({result}, {.kind = Kind::kCount}),
              "         COUNT  COMM\n"
              "             3  dd\n"
              "    vfs_read+0x5\n"
              "    ksys_read+0x6b\n");
    EXPECT_EQ(table_text({result}, {.folded = true}), "dd;ksys_read;vfs_read 3\n");
    const auto json = nlohmann::json::parse(table_text({result}, {.style = Style::kJson}));
    EXPECT_EQ(json["results"][0]["key"]["kstack"][1], "ksys_read+0x6b");
}

std::string refused(const TraceOptions& options) {
    return expect_error(ExitCode::kUsage, [&] { run_trace(options); });
}

TEST(TraceOptions, are_refused_where_they_would_be_ignored) {
    using testing::StartsWith;
    TraceOptions events;
    parse_place("vfs_read", events.question);
    TraceOptions results = events;
    results.question.aggregation = {Kind::kCount, "", "comm"};

    TraceOptions options = events;
    options.question.filters.comm = "averyveryverylongname";
    EXPECT_EQ(refused(options), "--comm: the kernel keeps 15 letters of a name: 'averyveryverylo'");
    options = results;
    options.folded = true;
    options.style = Style::kJson;
    EXPECT_THAT(refused(options), StartsWith("--folded: is a format of its own"));
    options = results;
    options.question.columns = {"pid"};
    EXPECT_THAT(refused(options), StartsWith("--columns: is for events"));
    options = results;
    options.attach.buffer = 4096;
    EXPECT_THAT(refused(options), StartsWith("--buffer: is for events"));
    options = events;
    options.top = 3;
    EXPECT_EQ(refused(options), "--top: is for results");
}

}  // namespace
}  // namespace djprobe::loader
