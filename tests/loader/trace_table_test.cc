// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "expect_error.h"
#include "kernel/own_number.h"
#include "small_files.h"
#include "temp_file.h"
#include "trace/distributions.h"
#include "trace/table.h"
#include "trace/trace_session.h"

namespace djprobe::loader {
namespace {

using Kind = Aggregation::Kind;

KeyPart part(const char* name, const char* text, std::vector<std::string> frames = {}) {
    return {name, text, "\"" + std::string(text) + "\"", std::move(frames)};
}

Field key(const char* name, Shape shape = Shape::kValue) {
    return {name, "", "", shape};
}

std::vector<Result> two_results() {
    Result first{{part("comm", "dd, \"x\"")}, 2, static_cast<std::uint64_t>(-7)};
    Result second{{part("comm", "cat")}, 4, 10};
    return {first, second};
}

TEST(TraceTable, has_a_column_for_each_part_of_the_key) {
    EXPECT_EQ(table_text(two_results(), {.kind = Kind::kCount, .keys = {key("comm")}}),
              "         COUNT  COMM\n"
              "             2  dd, \"x\"\n"
              "             4  cat\n");
    EXPECT_EQ(
        table_text(two_results(), {.kind = Kind::kSum, .is_signed = true, .keys = {key("comm")}}),
        "           SUM          COUNT  COMM\n"
        "            -7              2  dd, \"x\"\n"
        "            10              4  cat\n");
    const std::string unsigned_text =
        table_text(two_results(), {.kind = Kind::kMost, .keys = {key("comm")}});
    EXPECT_NE(unsigned_text.find("18446744073709551609"), std::string::npos);
}

TEST(TraceDistributions, are_of_times_or_values_and_have_the_key_as_labels) {
    Question question;
    question.site.symbol = "vfs_read";
    question.aggregation = Aggregation{Kind::kHistogram, "latency"};
    Result result{{part("comm", "dd"), part("kstack", "", {"inner", "outer"})}, 3};
    result.slots = {0, 0, 3};
    const auto times = distributions_of({result}, question, {.kind = Kind::kHistogram});
    ASSERT_EQ(times.size(), 1U);
    EXPECT_EQ(times[0].unit, Distribution::Unit::kNanoseconds);
    using Label = std::pair<std::string, std::string>;
    EXPECT_THAT(times[0].labels,
                testing::ElementsAre(Label("from", "vfs_read"), Label("to", "vfs_read:return"),
                                     Label("key_comm", "dd"), Label("key_kstack", "inner;outer")));
    EXPECT_EQ(times[0].buckets.at(2).value, 7);
    EXPECT_EQ(times[0].buckets.at(2).count, 3U);

    question.aggregation->value = "count";
    result.key.clear();
    result.negative = 2;
    const auto values =
        distributions_of({result}, question, {.kind = Kind::kHistogram, .is_signed = true});
    EXPECT_THAT(values[0].labels,
                testing::ElementsAre(Label("site", "vfs_read"), Label("of", "count")));
    EXPECT_EQ(values[0].unit, Distribution::Unit::kNone);
    EXPECT_EQ(values[0].buckets.front().value, -1);
    EXPECT_EQ(values[0].count, 5U);
}

TEST(TraceDistributions, by_equal_steps_count_what_is_outside) {
    Question question;
    question.site.symbol = "vfs_read";
    question.aggregation = Aggregation{Kind::kHistogram, "count"};
    Result result;
    result.negative = 1;
    result.slots = {2, 3};
    result.above = 4;
    const auto values = distributions_of({result}, question,
                                         {.kind = Kind::kHistogram, .linear = Linear{10, 30, 2}});
    ASSERT_EQ(values[0].buckets.size(), 3U);
    EXPECT_EQ(values[0].buckets[0].value, 9);
    EXPECT_EQ(values[0].buckets[0].count, 1U);
    EXPECT_EQ(values[0].buckets[1].value, 19);
    EXPECT_EQ(values[0].buckets[2].value, 29);
    EXPECT_EQ(values[0].buckets[2].count, 6U);
    EXPECT_EQ(values[0].count, 10U);
}

TEST(TraceTable, has_the_same_columns_without_results) {
    const std::vector<Field> keys = {key("comm"), key("kstack", Shape::kStackId)};
    EXPECT_EQ(table_text({}, {.kind = Kind::kCount, .keys = keys}), "         COUNT  COMM\n");
    EXPECT_EQ(table_text({}, {.style = Style::kCsv, .kind = Kind::kSum, .keys = keys}),
              "sum,count,comm,kstack\n");
    EXPECT_EQ(table_text({}, {.kind = Kind::kHistogram, .keys = {key("func")}, .unit = "ns"}),
              "         COUNT  FUNC             (ns)\n");
}

TEST(TraceTable, gives_no_two_columns_one_name) {
    const std::vector<Field> keys = {key("count"), key("count_2"), key("from"), key("sum")};
    const auto head = [&](Kind kind) {
        return table_text({}, {.style = Style::kCsv, .kind = kind, .keys = keys});
    };
    EXPECT_EQ(head(Kind::kCount), "count,count_2,count_2_2,from,sum\n");
    EXPECT_EQ(head(Kind::kSum), "sum,count,count_2,count_2_2,from,sum_2\n");
    EXPECT_EQ(head(Kind::kHistogram), "from,to,count,count_2,count_2_2,from_2,sum\n");
}

TEST(TraceTable, averages_with_the_sign) {
    const TableStyle style{
        .style = Style::kCsv, .kind = Kind::kAverage, .is_signed = true, .keys = {key("comm")}};
    EXPECT_EQ(table_text(two_results(), style),
              "avg,count,comm\n-3.5,2,\"dd, \"\"x\"\"\"\n2.5,4,cat\n");
}

TEST(TraceTable, draws_histograms) {
    Result result{{part("comm", "dd")}, 6, 0, 2};
    result.slots.resize(64);
    result.slots[3] = 4;
    const std::string text =
        table_text({result}, {.kind = Kind::kHistogram, .keys = {key("comm")}});
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
    EXPECT_EQ(table_text({result},
                         {.style = Style::kCsv, .kind = Kind::kHistogram, .keys = {key("comm")}}),
              "from,to,count,comm\n,-1,2,dd\n8,15,4,dd\n");
}

TEST(TraceTable, draws_equal_steps_and_what_is_outside) {
    Result result{{}, 9, 0, 2};
    result.slots = {4, 0, 2};
    result.above = 1;
    const TableStyle style{.kind = Kind::kHistogram, .linear = Linear{-10, 20, 3}};
    const std::string text = table_text({result}, style);
    EXPECT_THAT(text, testing::HasSubstr("    below -10: 2\n"));
    EXPECT_THAT(text, testing::HasSubstr("         -10 -> -1                    4 |***"));
    EXPECT_THAT(text, testing::HasSubstr("          10 -> 19                    2 |***"));
    EXPECT_THAT(text, testing::HasSubstr("    20 and above: 1\n"));
    TableStyle csv = style;
    csv.style = Style::kCsv;
    EXPECT_EQ(table_text({result}, csv), "from,to,count\n,-11,2\n-10,-1,4\n10,19,2\n20,,1\n");
    const auto json = results_json({result}, style);
    EXPECT_EQ(json[0]["above"], 1);
    EXPECT_EQ(json[0]["slots"][1],
              (nlohmann::ordered_json{{"from", 10}, {"to", 19}, {"count", 2}}));
}

TEST(TraceTable, shows_stacks_below_and_folds_them_from_the_outermost_frame) {
    const Result result{
        {part("comm", "dd"), part("kstack", "7", {"vfs_read+0x5", "ksys_read+0x6b"})}, 3};
    EXPECT_EQ(table_text({result}, {.kind = Kind::kCount,
                                    .keys = {key("comm"), key("kstack", Shape::kStackId)}}),
              "         COUNT  COMM\n"
              "             3  dd\n"
              "    vfs_read+0x5\n"
              "    ksys_read+0x6b\n");
    EXPECT_EQ(table_text({result}, {.folded = true}), "dd;ksys_read;vfs_read 3\n");
    const auto json = nlohmann::json::parse(table_text({result}, {.style = Style::kJson}));
    EXPECT_EQ(json["results"][0]["key"]["kstack"][1], "ksys_read+0x6b");
    EXPECT_EQ(table_text({{{part("comm", "a;b")}, 3}}, {.folded = true}), "a:b 3\n");
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
    options = events;
    options.question.filters.cpu = 9999;
    EXPECT_EQ(refused(options), "--cpu: this machine has no CPU 9999");
    if (own_number()) {
        options = events;
        options.question.filters.pid = 4'194'303;
        EXPECT_EQ(refused(options), "--pid 4194303: there is no such task");
    }
    options = results;
    options.times = TimeColumn::kWall;
    EXPECT_EQ(refused(options), "--times: is for events");
    options = events;
    options.times = TimeColumn::kWall;
    options.question.columns = {"pid"};
    EXPECT_EQ(refused(options), "--times: is for the column time, which --columns leaves out");
    options = results;
    options.question.aggregation = {Kind::kHistogram, "count", ""};
    options.folded = true;
    EXPECT_EQ(refused(options), "--folded: is for stacks: add --kstack, --ustack or --by KEYS");
    options = events;
    options.report = "a.html";
    options.emit = "a.bpf.c";
    EXPECT_EQ(refused(options), "--report: is of a run, and --emit runs nothing");
    options.report.reset();
    options.explain = true;
    EXPECT_EQ(refused(options), "--explain: writes no program: leave out --emit");
    options = events;
    options.emit = "a.txt";
    EXPECT_EQ(refused(options),
              "--emit a.txt: attach reads FILE.bpf.c, the source, or FILE.bpf.o, compiled");
    options = events;
    options.report = "-";
    EXPECT_EQ(refused(options), "--report: '-' names no file; stdout has the events");
}

// Of a kernel that does not run here.
TraceOptions other_kernels(const char* place) {
    TraceOptions options;
    parse_place(place, options.question);
    options.types = std::string(DJPROBE_KERNEL) + "/vmlinux";
    return options;
}

TEST(TraceRun, needs_the_module_before_a_compiler) {
    const std::string path = std::getenv("PATH");
    setenv("PATH", "/none", 1);
    TraceOptions options = other_kernels("vfs_read");
    options.attach.backend = Backend::kDjprobe;
    EXPECT_EQ(expect_error(ExitCode::kNotLoaded, [&] { run_trace(options); }),
              "no /dev/djprobe: load the module first (modprobe djprobe, or insmod djprobe.ko)");
    setenv("PATH", path.c_str(), 1);
}

// Ctrl-C while it compiles: what is in $TMPDIR goes.
TEST(TraceRun, is_stopped_by_no_signal_before_it_has_cleaned_up) {
    const Files files;
    const std::filesystem::path clang =
        files.write("clang", "#!/bin/sh\nkill -TERM $PPID\nexit 1\n");
    std::filesystem::permissions(clang, std::filesystem::perms::owner_all);
    const std::string path = std::getenv("PATH");
    setenv("PATH", (files.path().string() + ":" + path).c_str(), 1);
    setenv("TMPDIR", files.path().c_str(), 1);
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    TraceOptions options = other_kernels("vfs_read");
    options.emit = files.path() / "a.bpf.o";
    EXPECT_EQ(expect_error(ExitCode::kCompile, [&] { run_trace(options); }),
              "the trace's program: clang ended with status 1");
    setenv("PATH", path.c_str(), 1);
    unsetenv("TMPDIR");
    unsetenv("XDG_CACHE_HOME");
    for (const auto& left : std::filesystem::directory_iterator(files.path()))
        EXPECT_EQ(left.path(), clang);
}

TEST(TraceRun, tells_how_the_program_that_it_wrote_is_attached) {
    const Files files;
    const auto told = [&](const char* place, const char* items) {
        TraceOptions options = other_kernels(place);
        options.question.items = items;
        options.emit = files.path() / "a.bpf.c";
        testing::internal::CaptureStderr();
        EXPECT_EQ(run_trace(options), 0);
        return testing::internal::GetCapturedStderr();
    };
    const std::string file = files.path() / "a.bpf.c";
    EXPECT_EQ(told("vfs_read", "count"), "attach it with: probeload attach " + file + "\n");
    EXPECT_EQ(told("vfs_read:return", "retval, count"),
              "attach it with: probeload attach --session " + file + "\n");
    EXPECT_EQ(told("vfs_raed", "pid"),
              "probeload: vfs_raed: the kernel's types know no such function, and so none of its "
              "arguments; did you mean vfs_read?\n"
              "attach it with: probeload attach " +
                  file + "\n");
}

TEST(TraceRun, writes_its_program_as_a_whole_or_not_at_all) {
    const Files files;
    TraceOptions options = other_kernels("vfs_read");
    options.emit = files.path() / "a.bpf.c";
    const SmallFiles full(100);
    EXPECT_EQ(expect_error(ExitCode::kFailure, [&] { run_trace(options); }),
              "--emit: " + options.emit->string() + ": File too large");
    EXPECT_TRUE(std::filesystem::is_empty(files.path()));
}

TEST(TraceRun, tells_of_a_wrong_name_before_a_wrong_option) {
    const auto error = [](ExitCode code, const char* place) {
        TraceOptions options = other_kernels(place);
        options.emit = "-";
        options.debuginfo = "/none";
        return expect_error(code, [&] { run_trace(options); });
    };
    EXPECT_EQ(error(ExitCode::kUsage, "vfs_read"),
              "--debuginfo: is for FILE:LINE, FUNC:+LINE, FUNC+OFFSET and --inline: vfs_read is a "
              "whole function");
    EXPECT_EQ(error(ExitCode::kNoSuchSite, "vfs_raed"),
              "vfs_raed: the kernel's types know no such function; did you mean vfs_read?");
    TraceOptions here;
    parse_place("vfs_raed", here.question);
    here.debuginfo = "/none";
    EXPECT_THAT(expect_error(ExitCode::kNoSuchSite, [&] { run_trace(here); }),
                testing::StartsWith("vfs_raed: no such function"));
}

}  // namespace
}  // namespace djprobe::loader
