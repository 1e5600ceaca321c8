// SPDX-License-Identifier: GPL-2.0
#include "cli/app.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/exit_code.h"
#include "base/unique_fd.h"
#include "survey/image.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

struct Result {
    int status;
    std::string out;
    std::string err;
};

Result run(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "probeload");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = run_probeload(static_cast<int>(arguments.size()), arguments.data());
    return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

void expect_usage_error(const std::vector<const char*>& arguments, const std::string& line) {
    const Result result = run(arguments);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.err, "probeload: " + line + "\n");
    EXPECT_EQ(result.out, "");
}

TEST(App, version_on_stdout) {
    for (const char* option : {"--version", "-V"}) {
        const Result result = run({option});
        EXPECT_EQ(result.status, 0);
        EXPECT_EQ(result.out, "probeload 0.1.0 (ABI 1)\n");
        EXPECT_EQ(result.err, "");
    }
}

TEST(App, line_breaks_in_a_word_stay_in_the_error_s_line) {
    expect_usage_error({"a\nb"},
                       "'a\\x0ab' is none of attach, trace, run, start, stop, status, logs, "
                       "count, hist, latency, cover, lines, list, off, on, explain, survey, "
                       "functions, bench, doctor (see --help)");
    expect_usage_error({"latency", "a\nb", "vfs_read"},
                       "'a\\x0ab' is not a function: write SYM, SYM+OFFSET or MODULE:SYM");
    expect_usage_error({"stop", "a\nb"},
                       "'a\\x0ab' cannot name a service: up to 64 letters, digits "
                       "and '_', '.', '-'");
    expect_usage_error({"count", "vfs_read", "--duration=1\n2"},
                       "--duration: '1\\x0a2' is not a number of seconds above 0 (see --help)");
    expect_usage_error({"run", "a\nb"},
                       "'a\\x0ab': put -- in front of the tool: run -- a\\x0ab ...");
    const Result result = run({"attach", "no such\n.bpf.o"});
    EXPECT_EQ(result.err, "probeload: no such\\x0a.bpf.o: No such file or directory\n");
    EXPECT_EQ(result.status, 3);
}

TEST(App, version_that_could_not_be_read_is_a_failure) {
    const UniqueFd before(dup(STDOUT_FILENO));
    const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(full);
    dup2(full.get(), STDOUT_FILENO);
    testing::internal::CaptureStderr();
    const char* const arguments[] = {"probeload", "--version"};
    EXPECT_EQ(run_probeload(2, arguments), 1);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "probeload: stdout: No space left on device\n");
    dup2(before.get(), STDOUT_FILENO);
    std::cout.clear();
}

// Those that --help shows without a value, but for --help itself.
std::vector<std::string> flags_of(const char* verb) {
    std::istringstream lines(run({verb, "--help"}).out);
    const std::regex flag("  (?:-[a-z],)?(--[a-z0-9-]+)(?:  .*)?");
    std::vector<std::string> flags;
    std::smatch found;
    for (std::string line; std::getline(lines, line);)
        if (std::regex_match(line, found, flag) && found[1] != "--help") flags.push_back(found[1]);
    return flags;
}

// As a declaration gives them: "json = true".
TEST(App, flags_of_what_a_service_runs_may_be_true) {
    for (const char* verb : {"attach", "trace", "count", "hist", "latency", "cover"}) {
        const std::vector<std::string> flags = flags_of(verb);
        EXPECT_NE(std::ranges::find(flags, "--json"), flags.end()) << verb;
        for (const std::string& flag : flags) {
            const Result result = run({verb, (flag + "=true").c_str()});
            EXPECT_EQ(result.status, 2);
            // What else there must be is all that is wrong.
            EXPECT_TRUE(std::regex_search(result.err, std::regex(" (is required|requires) ")))
                << verb << " " << flag << "=true: " << result.err;
        }
    }
}

TEST(App, help_tells_examples_and_every_exit_status) {
    const Result result = run({"attach", "--help"});
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.out.find("probeload attach --func vfs_read vfs_read.bpf.o"),
              std::string::npos);
#define DJPROBE_EXIT_CODE_IN_HELP(number, constant, meaning) \
    EXPECT_NE(result.out.find(meaning), std::string::npos) << meaning;
    DJPROBE_EXIT_CODES(DJPROBE_EXIT_CODE_IN_HELP)
#undef DJPROBE_EXIT_CODE_IN_HELP
}

TEST(App, help_tells_where_the_objects_of_its_examples_lie) {
    for (const char* command : {"attach", "start"})
        EXPECT_NE(run({command, "--help"}).out.find(" /usr/share/djprobe/examples (or "),
                  std::string::npos)
            << command;
}

TEST(App, help_of_each_command_fits_a_terminal_and_hides_the_parser) {
    for (const char* command :
         {"attach", "list", "off", "on", "explain", "survey", "functions", "bench"}) {
        const Result result = run({command, "--help"});
        EXPECT_EQ(result.status, 0);
        std::istringstream lines(result.out);
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(line.size(), 80U) << command << ": " << line;
        for (const char* leftover : {"Excludes", "Option Group", " in ["})
            EXPECT_EQ(result.out.find(leftover), std::string::npos) << command << leftover;
    }
    EXPECT_NE(run({"explain", "--help"}).out.find("explain [OPTIONS] [SITE]\n"), std::string::npos);
}

TEST(App, help_tells_only_what_the_command_may_end_with) {
    const std::string survey = run({"survey", "--help"}).out;
    EXPECT_NE(survey.find("\n   9  no such function"), std::string::npos);
    EXPECT_EQ(survey.find("\n  13  "), std::string::npos);
    EXPECT_EQ(run({"explain", "--help"}).out.find("\n  10  "), std::string::npos);
}

TEST(App, options_before_a_command) {
    expect_usage_error({"-x"}, "unknown option -x (see --help)");
    expect_usage_error({"--frob=1", "attach"}, "unknown option --frob (see --help)");
    expect_usage_error({"--func", "vfs_read"},
                       "'--func' without a command: did you mean 'probeload attach --func ...'?");
    expect_usage_error({"--functions=x"},
                       "'--functions' without a command: did you mean 'probeload survey "
                       "--functions ...'?");
    EXPECT_EQ(run({"-h"}).status, 0);
}

TEST(App, options_of_a_command_before_it) {
    expect_usage_error({"-j", "list"},
                       "'-j' before the command: did you mean 'probeload list -j ...'?");
    expect_usage_error({"--once", "cover", "vfs_read"},
                       "'--once' before the command: did you mean 'probeload cover --once ...'?");
    expect_usage_error({"--once", "list"},
                       "'--once' without a command: did you mean 'probeload cover --once ...'?");
}

TEST(App, help_is_a_command_too) {
    EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
    EXPECT_EQ(run({"help", "count"}).out, run({"count", "--help"}).out);
    EXPECT_NE(run({"help", "count"}).out.find("probeload count"), std::string::npos);
    expect_usage_error({"help", "conut"}, "unknown command 'conut'; did you mean count?");
}

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
                       "--metrics: is for histograms: add --hist or --latency");
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
                                       option == std::string("-c") ? "--command" : option, next));
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
    EXPECT_EQ(run({"attach", "-jc", "--fnuc", "/none.o"}).err, missing);
    EXPECT_EQ(run({"attach", "--func", "f", "-d5", "-j", "--", "/none.o"}).err, missing);
    EXPECT_EQ(run({"attach", "--", "--fnuc"}).err,
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

TEST(App, function_that_an_image_has_not) {
    const Result result = run({"explain", "frobnicate_widget", "--vmlinux", DJPROBE_TINY_KERNEL});
    EXPECT_EQ(result.status, 9);
    EXPECT_EQ(
        result.err,
        "probeload: frobnicate_widget: no such function among the symbols of " DJPROBE_TINY_KERNEL
        " (inlined everywhere, or of a module?)\n");
}

TEST(App, image_that_is_a_directory) {
    const Result result = run({"explain", "loops", "--vmlinux", "/"});
    EXPECT_EQ(result.status, 3);
    EXPECT_EQ(result.err, "probeload: /: not a regular file\n");
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
    const Result result = run({"attach", "--func", "a", "--func", "a", "/nonexistent.bpf.o"});
    EXPECT_EQ(result.err,
              "probeload: a is given twice: attached once\n"
              "probeload: /nonexistent.bpf.o: No such file or directory\n");
}

TEST(App, modules_are_no_part_of_an_image) {
    const Result result = run({"explain", "xfs:f", "--vmlinux", DJPROBE_TINY_KERNEL});
    EXPECT_EQ(result.status, 9);
    EXPECT_EQ(result.err,
              "probeload: 'xfs:f': an image has no modules, only the running kernel has\n");
}

TEST(App, symbols_that_cannot_be_read_are_a_bad_file) {
    for (const auto& [path, why] :
         {std::pair{"/nonexistent", "No such file or directory"}, {"/", "Is a directory"}}) {
        const Result result =
            run({"explain", "loops", "--vmlinux", DJPROBE_TINY_KERNEL, "--symbols", path});
        EXPECT_EQ(result.status, 3);
        EXPECT_EQ(result.err, fmt::format("probeload: {}: {}\n", path, why));
    }
}

TEST(App, symbols_of_another_kernel_are_told) {
    const Files files;
    const std::string path = files.write("kallsyms",
                                         "ffffffff81000000 T _stext\n"
                                         "ffffffff81000010 R linux_banner\n");
    const Result result =
        run({"explain", "_stext", "--vmlinux", DJPROBE_TINY_KERNEL, "--symbols", path.c_str()});
    EXPECT_EQ(result.status, 3);
    EXPECT_EQ(result.err, "probeload: " + path +
                              ": not of the kernel image " DJPROBE_TINY_KERNEL
                              ": give the /proc/kallsyms of the same release\n");
}

TEST(App, symbols_that_lack_what_every_kernel_has_are_told) {
    const auto tiny = KernelImage::from_file(DJPROBE_TINY_KERNEL, "");
    const std::string text = "ffffffff81000000 T _stext\n";
    const std::string banner = fmt::format("{:x} R linux_banner\n", tiny.require("linux_banner"));
    const Files files;
    for (const auto& [symbols, missing] :
         {std::pair{banner, "_stext"}, {text, "linux_banner"}, {text + banner, "_etext"}}) {
        const std::string path = files.write("kallsyms", symbols);
        const Result result =
            run({"explain", "_stext", "--vmlinux", DJPROBE_TINY_KERNEL, "--symbols", path.c_str()});
        EXPECT_EQ(result.status, 3);
        EXPECT_EQ(result.err, fmt::format("probeload: {}: no symbol {}: give the /proc/kallsyms of "
                                          "the same release with --symbols\n",
                                          path, missing));
    }
}

TEST(App, no_subcommand) {
    expect_usage_error({}, "a command is required (see --help)");
}

TEST(App, no_file) {
    expect_usage_error({"attach", "--func", "vfs_read"}, "FILE is required (see --help)");
}

TEST(App, numbers_that_are_none) {
    expect_usage_error({"attach", "-d", "soon", "f.o"},
                       "--duration: 'soon' is not a number of seconds above 0 (see --help)");
    expect_usage_error({"attach", "-d", "0", "f.o"},
                       "--duration: '0' is not a number of seconds above 0 (see --help)");
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

// Lines of sites, less the summary's.
TEST(App, numbers_are_decimal_whatever_they_begin_with) {
    for (const auto& [number, sites] : {std::pair{"010", 10}, {"08", 8}, {"0x0a", 10}}) {
        const Result result =
            run({"survey", "-j", "--sample", number, "--vmlinux", DJPROBE_TINY_KERNEL});
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

TEST(App, functions_by_a_pattern) {
    const Result none = run({"functions", "no_such_function_*"});
    EXPECT_EQ(none.status, 9);
    EXPECT_EQ(none.err, "probeload: no function is named like 'no_such_function_*'\n");
    expect_usage_error({"functions", "a", "b"}, "'b' is one word too many (see --help)");
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

TEST(App, exit_status_is_that_of_a_command) {
    expect_usage_error({"attach", "--exit-status", "f.o"},
                       "--exit-status requires --command (see --help)");
    for (const char* verb : {"count", "cover"})
        expect_usage_error({verb, "vfs_read", "--exit-status"},
                           "--exit-status requires --command (see --help)");
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

TEST(App, bench_opens_the_picture_before_it_measures) {
    const Result result = run({"bench", "--plot", "/nonexistent/bench.svg"});
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.err, "probeload: --plot: /nonexistent/bench.svg: No such file or directory\n");
}

TEST(App, file_errors_come_before_the_device) {
    const Result result = run({"attach", "--func", "vfs_read", "/nonexistent.bpf.o"});
    EXPECT_EQ(result.status, 3);
    EXPECT_EQ(result.err, "probeload: /nonexistent.bpf.o: No such file or directory\n");
}

TEST(App, memory_that_ran_short_is_told) {
    const Files files;
    const std::string symbols = files.write("kallsyms", "");
    std::filesystem::resize_file(symbols, std::uintmax_t{1} << 30);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const rlimit limit = {std::size_t{400} << 20, RLIM_INFINITY};
        setrlimit(RLIMIT_AS, &limit);
        const Result result = run(
            {"explain", "loops", "--vmlinux", DJPROBE_TINY_KERNEL, "--symbols", symbols.c_str()});
        const bool told =
            result.status == 1 &&
            result.err.starts_with("probeload: out of memory: this process may use 409600 KiB of ");
        _exit(told ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(App, explain_succeeds_with_any_verdict) {
    const Result result = run({"explain", "--address", "0x1000", "--vmlinux", DJPROBE_TINY_KERNEL});
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.out.find("\nrefused: not in the text of the kernel or of a live module\n"),
              std::string::npos)
        << result.out;
}

TEST(App, tool_of_run_gets_its_words_as_they_are) {
    const Result result = run({"run", "--", "sh", "-c",
                               R"(test "$#" = 4 && test "$1" = '[a,b]' && test "$2" = '' &&
                                  test "$3" = '[]' && test "$4" = --mode && exit 23)",
                               "sh", "[a,b]", "", "[]", "--mode"});
    EXPECT_EQ(result.status, 23) << result.err;
}

TEST(App, tool_of_run_stands_behind_dashes) {
    expect_usage_error({"run", "bpftrace"},
                       "'bpftrace': put -- in front of the tool: run -- bpftrace ...");
    expect_usage_error({"run", "--strict"}, "run: which tool? Put -- and its words behind");
    expect_usage_error({"run", "--", ""}, "run: which tool? Put -- and its words behind");
}

TEST(App, no_site_given_and_none_in_the_section) {
    expect_usage_error({"attach", DJPROBE_BPF_DIR "/count.bpf.o"},
                       "program 'on_hit': its SEC(\"kprobe\") names no function: give --func "
                       "SYM or --at on_hit=SYM, or write SEC(\"kprobe/SYM\")");
}

}  // namespace
}  // namespace djprobe::loader
