// SPDX-License-Identifier: GPL-2.0
// Words of a command line that are wrong, or of no effect, are told.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "run_app.h"

namespace djprobe::loader {
namespace {

using testing::StartsWith;

TEST(App, misspelt_options_are_told_with_what_was_meant) {
    expect_usage_error({"attach", "--fnuc", "vfs_read", "f.o"},
                       "unknown option --fnuc; did you mean --func?");
    expect_usage_error({"attach", "--fnuc=vfs_read", "f.o"},
                       "unknown option --fnuc; did you mean --func?");
    expect_usage_error({"attach", "--func", "a", "f.o", "--jsno"},
                       "unknown option --jsno; did you mean --json?");
    expect_usage_error({"--hepl"}, "unknown option --hepl; did you mean --help?");
    expect_usage_error({"attach", "--vmlinux", "x", "f.o"},
                       "unknown option --vmlinux: 'probeload explain' has it, 'probeload attach' "
                       "has not");
    expect_usage_error({"attach", "--func=", "f.o"}, "--func: its value is missing (see --help)");
    expect_usage_error({"start", "--func", "vfs_read", "reads", "f.o"},
                       "--func before the service's name: did you mean 'probeload start NAME "
                       "--func ...'?");
    expect_usage_error({"list", "--frobnicate"}, "unknown option --frobnicate (see --help)");
    expect_usage_error({"attach", "-jx", "f.o"}, "unknown option -x (see --help)");
    expect_usage_error({"atach", "f.o"}, "unknown command 'atach'; did you mean attach?");
    expect_usage_error({"frobnicate"},
                       "'frobnicate' is none of attach, trace, run, start, stop, status, logs, "
                       "count, hist, latency, cover, "
                       "lines, list, off, "
                       "on, explain, survey, functions, bench, doctor (see --help)");
}

TEST(App, trace_says_what_does_not_go_together) {
    const char* const kinds = "--count-by, --sum, --avg, --min, --max, --hist or --latency";
    expect_usage_error({"trace", "vfs_*"},
                       std::string("vfs_*: events are those of one function: add ") + kinds);
    expect_usage_error({"trace", "vfs_read", "--by", "comm"},
                       "--by: goes with --sum, --avg, --min, --max, --hist or --latency");
    expect_usage_error({"trace", "vfs_read", "-i", "1"},
                       std::string("--interval: is for results: ") + kinds);
    expect_usage_error({"trace", "vfs_read", "count", "--sum", "count"},
                       "'count' would be shown of each call, but results are of all: give one of "
                       "the two");
    expect_usage_error({"trace", "vfs_read", "--sum", "count", "-n", "3"},
                       "--limit: stops after so many events, and results send none");
    // Before the file is there.
    expect_usage_error({"trace", "vfs_read", "--count-by", "func", "--metrics-file", "/no/such"},
                       "--metrics and --metrics-file: are for histograms: add --hist or --latency");
    expect_usage_error({"trace", "vfs_read", "count", "pos"},
                       "2 words are given: put commas between expressions, and all of them in "
                       "quotes: 'count, pos'");
    expect_usage_error({"trace", "vfs_read", "--count-by", "comm", "--sum", "count"},
                       "--sum: one of --count-by, --sum, --avg, --min, --max, --hist and --latency "
                       "at a time");
    expect_usage_error({"trace", "vfs_read", "-n", "99999999999999999999"},
                       "--limit: '99999999999999999999' is no whole number of 64 bits from 1 on "
                       "(see --help)");
    expect_usage_error({"trace", "vfs_read", "--pid", "4294967295"},
                       "--pid: '4294967295' is not a whole number from 0 to 4194304 (see --help)");
    for (const auto& [option, next] : std::vector<std::pair<const char*, const char*>>{
             {"--sum", "--by"}, {"--if", "--pid"}, {"-c", "-d"}, {"--comm", "-n"}})
        expect_usage_error({"trace", "vfs_read", option, next, "3"},
                           fmt::format("{}: its value is missing: {} is the next option (see "
                                       "--help)",
                                       option, next));
    for (const auto& [verb, option, next] :
         std::vector<std::tuple<const char*, const char*, const char*>>{
             {"count", "--comm", "-d"},
             {"count", "--if", "-j"},
             {"hist", "--of", "-d"},
             {"latency", "--by", "-d"},
             {"lines", "--debuginfo", "-j"},
             {"cover", "--lcov", "--once"},
             {"attach", "--func", "-d"}})
        expect_usage_error({verb, "vfs_read", option, next, "1"},
                           fmt::format("{}: its value is missing: {} is the next option (see "
                                       "--help)",
                                       option, next));
    // In one word with it, it is a value.
    EXPECT_THAT(run_app({"count", "vfs_read", "--comm=-d", "--of"}).err,
                testing::HasSubstr("unknown option --of"));
    EXPECT_THAT(run_app({"trace", "vfs_read:+x", "--sum=-j"}).err,
                testing::Not(testing::HasSubstr("its value is missing")));
    expect_usage_error({"trace", "--inline", "skb_put:return"},
                       "--inline: FUNC is the name of one function: skb_put:return is not");
    expect_usage_error({"trace", "_text+0x10:return"},
                       "_text+0x10:return: returns are those of a whole function: trace takes them "
                       "by its name; attach --ret and latency by such a place, too");
    expect_usage_error({"trace", "vfs_read+4:return"},
                       "vfs_read+4:return: returns are those of a whole function: name it without "
                       "+0x4");
    expect_usage_error({"trace", "vfs_read+4", "--latency"},
                       "vfs_read+0x4: --latency is of calls of a whole function");
    expect_usage_error(
        {"trace", "vfs_read", "--debuginfo", "."},
        "--debuginfo: is for FILE:LINE, FUNC:+LINE, FUNC+OFFSET and --inline: vfs_read is a "
        "whole function");
}

TEST(App, values_and_what_stands_behind_two_dashes_are_no_options) {
    const char* const missing = "probeload: /none.o: No such file or directory\n";
    EXPECT_EQ(run_app({"attach", "-jc", "--fnuc", "/none.o"}).err, missing);
    EXPECT_EQ(run_app({"attach", "--func", "f", "-d5", "-j", "--", "/none.o"}).err, missing);
    EXPECT_EQ(run_app({"attach", "--", "--fnuc"}).err,
              "probeload: --fnuc: No such file or directory\n");
}

TEST(App, cover_has_one_stdout) {
    expect_usage_error({"cover", "vfs_read", "--lcov", "-", "--pcs", "-"},
                       "--lcov and --pcs: only one of them can go to stdout");
    expect_usage_error({"cover", "vfs_read", "--pcs", "-", "-j"},
                       "--json: stdout is that of --pcs -");
}

TEST(App, explain_wants_one_place) {
    expect_usage_error({"explain"}, "SITE is required (see --help)");
    expect_usage_error({"explain", "vfs_read", "--address", "0x10"},
                       "SITE excludes --address (see --help)");
}

TEST(App, patterns_where_one_function_is_meant) {
    expect_usage_error({"explain", "vfs_*"},
                       "'vfs_*' is a pattern; explain takes one function, survey --functions many");
    expect_usage_error({"bench", "--func", "vfs_*"},
                       "'vfs_*' is a pattern; bench takes one function, survey --functions many");
    expect_usage_error({"hist", "vfs_*", "--of", "arg1"},
                       "'vfs_*' is a pattern; hist takes one function, count many");
    expect_usage_error(
        {"count", "vfs_read,vfs_write"},
        "'vfs_read,vfs_write' is not a function, but several: give each one by itself");
}

TEST(App, latency_wants_two_different_places) {
    expect_usage_error({"latency", "a"}, "B is required (see --help)");
    expect_usage_error({"latency", "a", "a"},
                       "a: A and B are the same place: give two, as in: probeload latency a "
                       "a:return");
    expect_usage_error({"latency", "a:return", "a:return"},
                       "a:return: A and B are the same place: give two, as in: probeload latency "
                       "a a:return");
    expect_usage_error({"latency", "vfs_*", "vfs_*:return"},
                       "'vfs_*' is a pattern; latency takes one function, trace --latency many");
    expect_usage_error({"latency", "a", "a+4:return"},
                       "'a+4:return': returns are those of a function: write a:return");
    expect_usage_error({"latency", "a", "a:return+4"},
                       "a:return+0x4: returns have no offset: write a:return");
    expect_usage_error({"latency", "a", "a:retrun"}, "a:retrun: did you mean a:return?");
    expect_usage_error({"latency", "a", "b", "--by", "pid"}, "--by: 'pid' is neither cpu nor comm");
    expect_usage_error({"latency", "a", "b", "--ret-mode", "exact"},
                       "--ret-mode: neither A nor B is FUNC:return");
    expect_usage_error({"latency", "a", "b", "--top", "3"}, "--top requires --by (see --help)");
}

TEST(App, names_that_are_empty) {
    expect_usage_error({"attach", "--prog", "", "f.o"},
                       "--prog: it is empty: leave it out, or say which (see --help)");
    expect_usage_error({"attach", "-c", "", "f.o"},
                       "--command: it is empty: leave it out, or say which (see --help)");
    expect_usage_error({"survey", "--functions", ""},
                       "--functions: it is empty: leave it out, or say which (see --help)");
}

TEST(App, site_that_is_given_twice_is_told) {
    const AppResult result =
        run_app({"attach", "--func", "a", "--func", "a", "/nonexistent.bpf.o"});
    EXPECT_EQ(result.err,
              "probeload: a is given twice: attached once\n"
              "probeload: /nonexistent.bpf.o: No such file or directory\n");
}

TEST(App, numbers_that_are_none) {
    expect_usage_error({"attach", "-d", "soon", "f.o"},
                       "--duration: 'soon' is not a number of seconds above 0 (see --help)");
    expect_usage_error({"attach", "-d", "0", "f.o"},
                       "--duration: '0' is not a number of seconds above 0 (see --help)");
    for (const char* const most : {"1e10", "1e99", "inf"})
        expect_usage_error(
            {"attach", "-d", most, "f.o"},
            std::string("--duration: '") + most + "' is more than 1000000000 seconds (see --help)");
    for (const char* const lines : {"abc", "1.5", "0", "-1"})
        expect_usage_error({"logs", "reads", "-n", lines},
                           std::string("--lines: '") + lines +
                               "' is not a whole number from 1 to 2147483647 (see --help)");
    expect_usage_error({"attach", "--cookie", "-1", "f.o"},
                       "--cookie: '-1' is no number of 64 bits, decimal or 0x-hexadecimal");
    expect_usage_error(
        {"attach", "--cookie", "18446744073709551616", "f.o"},
        "--cookie: '18446744073709551616' is no number of 64 bits, decimal or 0x-hexadecimal");
    expect_usage_error({"bench", "--attach", "5", "--plot", "x.svg"},
                       "--attach excludes --plot (see --help)");
}

TEST(App, numbers_are_decimal_whatever_they_begin_with) {
    for (const auto& [number, sites] : {std::pair{"010", 10}, {"08", 8}, {"0x0a", 10}}) {
        const AppResult result =
            run_app({"survey", "-j", "--sample", number, "--vmlinux", DJPROBE_TINY_KERNEL});
        EXPECT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(std::ranges::count(result.out, '\n'), sites + 1) << number;
    }
}

TEST(App, source_lines_are_told_wherever_a_place_is_named) {
    const std::string line =
        "'fs/open.c:9' is a place in a source file, which 'probeload trace fs/open.c:9' knows "
        "('probeload lines FUNC' lists a function's); here write FUNC, FUNC+OFFSET or MODULE:FUNC";
    expect_usage_error({"attach", "--func", "fs/open.c:9", "f.o"}, line);
    expect_usage_error({"explain", "fs/open.c:9"}, line);
    expect_usage_error({"survey", "--functions", "fs/open.c:9"}, line);
}

TEST(App, a_pattern_may_begin_and_end_with_brackets) {
    const AppResult none = run_app({"count", "[x]no_such_functio[n]", "[y]no_such_functio[n]"});
    EXPECT_EQ(none.status, 9);
    EXPECT_THAT(none.err,
                testing::HasSubstr("no function is named like '[x]no_such_functio[n]'\n"));
}

TEST(App, one_dash_for_two_and_values_that_are_not_taken_are_told) {
    expect_usage_error({"attach", "f.o", "-func", "vfs_read"},
                       "-func: with one dash; did you mean --func?");
    expect_usage_error({"count", "vfs_read", "-duration=2"},
                       "-duration: with one dash; did you mean --duration?");
    expect_usage_error({"list", "--json=foo"}, "--json: takes no value (see --help)");
    expect_usage_error({"list", "-j=foo"}, "-j: takes no value (see --help)");
}

TEST(App, functions_by_a_pattern) {
    const AppResult none = run_app({"functions", "no_such_function_*"});
    EXPECT_EQ(none.status, 9);
    EXPECT_EQ(none.err, "probeload: no function is named like 'no_such_function_*'\n");
    expect_usage_error({"functions", "a", "b"}, "'b' is one word too many (see --help)");
}

TEST(App, a_misspelt_function_is_told_before_what_it_would_need) {
    const AppResult listed = run_app({"functions", "vfs_raed"});
    EXPECT_EQ(listed.status, 9);
    EXPECT_THAT(listed.err, StartsWith("probeload: no function is named like 'vfs_raed'; did you "
                                       "mean vfs_read"));
    const AppResult lines = run_app({"lines", "vfs_raed", "--debuginfo", "/no/such/folder"});
    EXPECT_EQ(lines.status, 9);
    EXPECT_THAT(lines.err,
                StartsWith("probeload: vfs_raed: no such function; did you mean vfs_read"));
    for (const std::vector<const char*>& words :
         std::vector<std::vector<const char*>>{{"hist", "vfs_raed", "--of", "count"},
                                               {"count", "vfs_raed", "--if", "count > 1"},
                                               {"trace", "vfs_raed", "--explain"}}) {
        const AppResult asked = run_app(words);
        EXPECT_EQ(asked.status, 9) << words.front();
        EXPECT_THAT(asked.err,
                    StartsWith("probeload: vfs_raed: no such function; did you mean vfs_read"));
    }
    EXPECT_EQ(run_app({"trace", "vfs_read", "--cgroup", "/no/such", "--explain"}).status, 2);
    const AppResult module = run_app({"lines", "nosuch:f", "--debuginfo", "/no/such/folder"});
    EXPECT_EQ(module.status, 9);
    EXPECT_EQ(module.err, "probeload: nosuch:f: no module nosuch is loaded: modprobe nosuch\n");
}

TEST(App, unknown_mode) {
    expect_usage_error({"attach", "--mode", "fast", "f.o"},
                       "--mode: 'fast' is neither auto nor int3");
}

TEST(App, mode_of_returns) {
    expect_usage_error({"attach", "--ret-mode", "fast", "f.o"},
                       "--ret-mode: 'fast' is none of auto, exact, shadow");
}

TEST(App, malformed_function) {
    expect_usage_error(
        {"attach", "--func", "vfs_read+x", "f.o"},
        "'vfs_read+x': the offset 'x' is no number of 64 bits, decimal or 0x-hexadecimal");
}

TEST(App, one_function_takes_one_value) {
    expect_usage_error({"attach", "--func", "a", "f.o", "g.o"},
                       "'g.o' is one word too many (see --help)");
}

TEST(App, words_that_are_missing_or_too_many_are_named) {
    expect_usage_error({"count", "vfs_read", "-d"}, "-d: its value is missing (see --help)");
    expect_usage_error({"hist", "f", "--of", "rdi", "--metrics"},
                       "--metrics: its value is missing (see --help)");
    expect_usage_error({"count", "vfs_read", "-d", "1", "--duration=2"},
                       "--duration is given 2 times: give it once (see --help)");
    expect_usage_error({"latency", "a", "b", "c", "d"}, "'c' is one word too many (see --help)");
    expect_usage_error({"count", "vfs_read", "--", "-d", "1"},
                       "'-d' is one word too many (see --help)");
}

TEST(App, options_that_would_have_no_effect_are_refused) {
    expect_usage_error({"survey", "--seed", "3"}, "--seed requires --sample (see --help)");
    expect_usage_error({"count", "--lines", "vfs_read", "-j", "--source", "."},
                       "--source: -j shows no text of the source");
    expect_usage_error({"cover", "vfs_read", "--source", "."},
                       "--source: is for what has lines: add --annotate or --lcov");
    expect_usage_error({"cover", "vfs_read", "--lcov", "./a", "--pcs", "a"},
                       "--lcov and --pcs: each needs a file of its own, and both name ./a");
    expect_usage_error({"cover", "vfs_read", "--lcov", "a", "--pcs", "a"},
                       "--lcov and --pcs: each needs a file of its own, and both name a");
}

TEST(App, hist_is_of_no_returns) {
    expect_usage_error({"hist", "vfs_read:return", "--of", "retval"},
                       "vfs_read:return: hist looks at entries and instructions: 'probeload trace "
                       "vfs_read:return --hist retval' looks at returns");
    expect_usage_error({"hist", "vfs_read", "--of", ""},
                       "--of: it is empty: leave it out, or say which (see --help)");
}

TEST(App, raw_and_json_exclude_each_other) {
    expect_usage_error({"attach", "-j", "--raw", "f.o"}, "--json excludes --raw (see --help)");
}

TEST(App, bench_takes_lists_of_known_names) {
    expect_usage_error(
        {"bench", "--mechanism", "fentry,uprobe"},
        "--mechanism: 'uprobe' is none of: djprobe-count, djprobe-jump, "
        "djprobe-int3, djprobe-return, djprobe-shadow, kprobe-optimized, "
        "kprobe-int3, kprobe-ftrace, kretprobe, kprobe-multi, fentry, fexit, raw-tracepoint");
    expect_usage_error({"bench", "--program", "full"},
                       "--program: 'full' is none of: empty, counter, filter, histogram, ringbuf");
}

TEST(App, bench_wants_sane_numbers) {
    expect_usage_error({"bench", "--rounds", "0"},
                       "--rounds: '0' is not a whole number from 1 to 1000 (see --help)");
    expect_usage_error({"bench", "--calls", "many"},
                       "--calls: 'many' is not a whole number from 1 to 1000000 (see --help)");
}

}  // namespace
}  // namespace djprobe::loader
