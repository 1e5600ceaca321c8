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
#include <vector>

#include "base/exit_code.h"
#include "base/unique_fd.h"
#include "run_app.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

TEST(App, version_on_stdout) {
    for (const char* option : {"--version", "-V"}) {
        const AppResult result = run_app({option});
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
    expect_usage_error({"status", ""},
                       "'' cannot name a service: up to 64 letters, digits and '_', and not first "
                       "'.' and '-'");
    expect_usage_error({"stop", "a\nb"},
                       "'a\\x0ab' cannot name a service: up to 64 letters, digits "
                       "and '_', and not first '.' and '-'");
    expect_usage_error({"count", "vfs_read", "--duration=1\n2"},
                       "--duration: '1\\x0a2' is not a number of seconds above 0 (see --help)");
    expect_usage_error({"run", "a\nb"},
                       "'a\\x0ab': put -- in front of the tool: run -- a\\x0ab ...");
    const AppResult result = run_app({"attach", "no such\n.bpf.o"});
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
    std::istringstream lines(run_app({verb, "--help"}).out);
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
            const AppResult result = run_app({verb, (flag + "=true").c_str()});
            EXPECT_EQ(result.status, 2);
            // What else there must be is all that is wrong.
            EXPECT_TRUE(std::regex_search(result.err, std::regex(" (is required|requires) ")))
                << verb << " " << flag << "=true: " << result.err;
        }
    }
}

TEST(App, help_tells_examples_and_every_exit_status) {
    const AppResult result = run_app({"attach", "--help"});
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
        EXPECT_NE(run_app({command, "--help"}).out.find(" /usr/share/djprobe/examples (or "),
                  std::string::npos)
            << command;
}

TEST(App, help_of_each_command_fits_a_terminal_and_hides_the_parser) {
    for (const char* command :
         {"attach", "list", "off", "on", "explain", "survey", "functions", "bench"}) {
        const AppResult result = run_app({command, "--help"});
        EXPECT_EQ(result.status, 0);
        std::istringstream lines(result.out);
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(line.size(), 80U) << command << ": " << line;
        for (const char* leftover : {"Excludes", "Option Group", " in ["})
            EXPECT_EQ(result.out.find(leftover), std::string::npos) << command << leftover;
    }
    EXPECT_NE(run_app({"start", "--help"}).out.find("start NAME [OPTION of attach]... [FILE]\n"),
              std::string::npos);
    EXPECT_NE(run_app({"explain", "--help"}).out.find("explain [OPTIONS] [SITE]\n"),
              std::string::npos);
}

TEST(App, help_tells_only_what_the_command_may_end_with) {
    const std::string survey = run_app({"survey", "--help"}).out;
    EXPECT_NE(survey.find("\n   9  no such function"), std::string::npos);
    EXPECT_EQ(survey.find("\n  13  "), std::string::npos);
    EXPECT_EQ(run_app({"explain", "--help"}).out.find("\n  10  "), std::string::npos);
}

TEST(App, options_before_a_command) {
    expect_usage_error({"-x"}, "unknown option -x (see --help)");
    expect_usage_error({"--frob=1", "attach"}, "unknown option --frob (see --help)");
    expect_usage_error({"--func", "vfs_read"},
                       "'--func' without a command: did you mean 'probeload attach --func ...'?");
    expect_usage_error({"--functions=x"},
                       "'--functions' without a command: did you mean 'probeload survey "
                       "--functions ...'?");
    EXPECT_EQ(run_app({"-h"}).status, 0);
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
    EXPECT_EQ(run_app({"help"}).out, run_app({"--help"}).out);
    EXPECT_EQ(run_app({"help", "count"}).out, run_app({"count", "--help"}).out);
    EXPECT_NE(run_app({"help", "count"}).out.find("probeload count"), std::string::npos);
    expect_usage_error({"help", "conut"}, "unknown command 'conut'; did you mean count?");
}

TEST(App, no_subcommand) {
    expect_usage_error({}, "a command is required (see --help)");
}

TEST(App, no_file) {
    expect_usage_error({"attach", "--func", "vfs_read"}, "FILE is required (see --help)");
}

// Lines of sites, less the summary's.
TEST(App, exit_status_is_that_of_a_command) {
    expect_usage_error({"attach", "--exit-status", "f.o"},
                       "--exit-status requires --command (see --help)");
    for (const char* verb : {"count", "cover"})
        expect_usage_error({verb, "vfs_read", "--exit-status"},
                           "--exit-status requires --command (see --help)");
}

TEST(App, bench_opens_the_picture_before_it_measures) {
    const AppResult result = run_app({"bench", "--plot", "/nonexistent/bench.svg"});
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.err, "probeload: --plot: /nonexistent/bench.svg: No such file or directory\n");
}

TEST(App, file_errors_come_before_the_device) {
    const AppResult result = run_app({"attach", "--func", "vfs_read", "/nonexistent.bpf.o"});
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
        const AppResult result = run_app(
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
    const AppResult result =
        run_app({"explain", "--address", "0x1000", "--vmlinux", DJPROBE_TINY_KERNEL});
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.out.find("\nrefused: not in the text of the kernel or of a live module\n"),
              std::string::npos)
        << result.out;
}

TEST(App, tool_of_run_gets_its_words_as_they_are) {
    const AppResult result = run_app({"run", "--", "sh", "-c",
                                      R"(test "$#" = 4 && test "$1" = '[a,b]' && test "$2" = '' &&
                                  test "$3" = '[]' && test "$4" = --mode && exit 23)",
                                      "sh", "[a,b]", "", "[]", "--mode"});
    EXPECT_EQ(result.status, 23) << result.err;
}

TEST(App, tool_of_run_stands_behind_dashes) {
    expect_usage_error({"run", "bpftrace"},
                       "'bpftrace': put -- in front of the tool: run -- bpftrace ...");
    expect_usage_error({"run", "--strict"}, "run: which tool? Put -- and its words behind");
    expect_usage_error({"run", "--bench", "-c", "", "--", "true"},
                       "--command: it is empty: leave it out, or say which (see --help)");
    expect_usage_error({"run", "--", ""}, "run: which tool? Put -- and its words behind");
}

TEST(App, no_site_given_and_none_in_the_section) {
    expect_usage_error({"attach", DJPROBE_BPF_DIR "/count.bpf.o"},
                       "program 'on_hit': its SEC(\"kprobe\") names no function: give --func "
                       "SYM or --at on_hit=SYM, or write SEC(\"kprobe/SYM\")");
}

}  // namespace
}  // namespace djprobe::loader
