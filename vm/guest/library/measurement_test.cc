// SPDX-License-Identifier: GPL-2.0
// What libprobeload counts and measures without a program.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <probeload.hpp>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "calls.h"

namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Without what is new since the last look.
std::string without_news(const std::string& text) {
    return std::regex_replace(text, std::regex("\"new\":[0-9]+"), "");
}

// Measures while `work` is done. The library prints nothing.
std::string measured(const probeload::Question& question,
                     const std::function<void()>& work = call_getpgid) {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    probeload::Measurement measurement(question);
    work();
    measurement.stop();
    std::string results = measurement.results();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    // It is over.
    measurement.stop();
    work();
    EXPECT_EQ(without_news(measurement.results()), without_news(results));
    return results;
}

std::string error_of(probeload_error code, const probeload::Question& question) {
    testing::internal::CaptureStderr();
    std::string text;
    try {
        const probeload::Measurement measurement(question);
        ADD_FAILURE() << "no error";
    } catch (const probeload::Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        text = error.what();
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    return text;
}

TEST(Measurement, CountsCalls) {
    const std::string one = measured({.place = kGetpgid, .result = "count"});
    EXPECT_TRUE(one.starts_with("{\"type\":\"counts\",\"seconds\":")) << one;
    EXPECT_TRUE(has(one, "\"total\":1000,")) << one;
    const std::string two =
        measured({.place = std::string("  ") + kGetpgid + " __x64_sys_getpgi? " + kGetpgid + "  ",
                  .result = "count"});
    EXPECT_TRUE(has(two, "\"total\":2000,")) << two;
}

TEST(Measurement, CountsWhatTheConditionAndTheTaskLetThrough) {
    const auto thread = static_cast<std::uint32_t>(gettid());
    const auto with_another = [] {
        call_getpgid();
        std::thread(call_getpgid).join();
    };
    const auto count = [&](const std::string& condition, const probeload::Tasks& tasks) {
        return measured(
            {.place = kGetpgid, .condition = condition, .result = "count", .tasks = tasks},
            with_another);
    };
    for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
             {count("", {}), "2000"},
             {count("", {.tid = thread}), "1000"},
             {count("", {.pid = static_cast<std::uint32_t>(getpid())}), "2000"},
             {count("", {.comm = "nobody"}), "0"},
             {count("rdi == 0", {}), "0"}})
        EXPECT_TRUE(has(text, "\"total\":" + expected + ",")) << text;
}

TEST(Measurement, ShowsTheLargestCountsOnly) {
    probeload::Measurement measurement({.place = "vfs_* ksys_*", .result = "count"});
    EXPECT_TRUE(has(measurement.how(), "attached ")) << measurement.how();
    std::ifstream("/proc/version").get();
    const std::string one = measurement.results(1);
    const std::string site = "{\"site\":";
    ASSERT_TRUE(has(one, site)) << one;
    EXPECT_FALSE(has(one.substr(one.find(site) + site.size()), site)) << one;
}

TEST(Measurement, KeepsHistograms) {
    const auto calls = [] {
        for (int i = 0; i < kCalls; ++i)
            syscall(SYS_lseek, 0, i, 9);
    };
    const std::string text = measured(
        {.place = "ksys_lseek", .condition = "whence == 9", .result = "hist offset"}, calls);
    EXPECT_TRUE(text.starts_with("{\"type\":\"histogram\",")) << text;
    EXPECT_TRUE(has(text, "\"total\":1000,\"min\":0,\"max\":999,")) << text;
}

TEST(Measurement, CountsBlocks) {
    const std::string text = measured({.place = kGetpgid, .result = "count blocks"});
    EXPECT_TRUE(text.starts_with("{\"type\":\"blocks\",\"function\":\"__x64_sys_getpgid\","))
        << text;
    EXPECT_TRUE(has(text, "\"count\":1000,")) << text;
    EXPECT_TRUE(has(text, "\"unbalanced\":[]")) << text;
    EXPECT_FALSE(has(text, "\n")) << text;
}

TEST(Measurement, TellsWhatHasRun) {
    for (const unsigned int flags : {0U, unsigned{PROBELOAD_ONCE}}) {
        const std::string text = measured(
            {.place = "__x64_sys_getpgi? __x64_sys_getsid", .flags = flags, .result = "cover"});
        EXPECT_TRUE(has(text, "{\"type\":\"coverage\",\"function\":\"__x64_sys_getpgid\","))
            << text;
        EXPECT_TRUE(has(text, "\n{\"type\":\"summary\",\"covered\":2,")) << text;
    }
}

TEST(Measurement, MeasuresLatencies) {
    const auto in_another_process = [] {
        const pid_t child = fork();
        if (child == 0) {
            call_getpgid();
            _exit(0);
        }
        waitpid(child, nullptr, 0);
    };
    for (const char* const by : {"", "cpu", "comm"}) {
        const std::string text = measured({.place = kGetpgid,
                                           .result = "latency",
                                           .by = by,
                                           .to = std::string(kGetpgid) + ":return"},
                                          in_another_process);
        EXPECT_TRUE(text.starts_with("{\"type\":\"latency\",")) << text;
        EXPECT_TRUE(has(text, "\"pairs\":1000,")) << text;
        EXPECT_EQ(has(text, "\"by\":["), *by != '\0') << text;
        EXPECT_TRUE(has(text, "\"unended\":0,")) << text;
    }
}

TEST(Measurement, TakesItsProbesOutAtItsEnd) {
    { const probeload::Measurement ended({.place = kGetpgid, .result = "count"}); }
    std::ifstream list("/sys/kernel/debug/djprobe/list");
    for (std::string line; std::getline(list, line);)
        EXPECT_FALSE(has(line, "getpgid")) << line;
}

TEST(Measurement, SaysWhatIsWrong) {
    EXPECT_EQ(error_of(PROBELOAD_USAGE, {.place = kGetpgid}),
              "the question's result is null: a measurement needs one");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, {.place = kGetpgid, .result = "sum arg1"}),
              "result 'sum arg1': is none of count, hist OPERAND, count blocks, count lines, "
              "cover, cover lines, latency");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, {.place = kGetpgid, .result = "hist"}),
              "result 'hist': write hist OPERAND");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, {.place = "vfs_*", .result = "hist arg1"}),
              "'vfs_*': a histogram is of one place");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, {.place = " ", .result = "count"}),
              "the question's place is empty");
    EXPECT_EQ(
        error_of(PROBELOAD_USAGE, {.place = kGetpgid, .expressions = "pid", .result = "count"}),
        "result 'count': expressions is not for it");
    EXPECT_EQ(
        error_of(PROBELOAD_USAGE, {.place = kGetpgid, .condition = "pid == 1", .result = "cover"}),
        "result 'cover': condition is not for it");
    EXPECT_EQ(
        error_of(PROBELOAD_USAGE, {.place = kGetpgid, .result = "count", .tasks = {.uid = 0}}),
        "result 'count': uid is not for it");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, {.place = kGetpgid, .result = "latency"}),
              "result 'latency': `to` is null: say where it ends");
    EXPECT_EQ(error_of(PROBELOAD_USAGE,
                       {.place = kGetpgid, .flags = PROBELOAD_ONCE, .result = "count blocks"}),
              "flags 0x8: 0x8 is not for this");
    error_of(PROBELOAD_NO_SUCH_SITE, {.place = "no_such_function", .result = "count"});
    error_of(PROBELOAD_NO_SUCH_SITE, {.place = "no_such_function", .result = "count blocks"});
    error_of(PROBELOAD_REFUSED_SITE, {.place = "do_int3", .result = "count"});
    error_of(PROBELOAD_BAD_FILE,
             {.place = kGetpgid, .debuginfo = "/nonexistent", .result = "count lines"});
    error_of(PROBELOAD_NO_SUCH_SITE, {.place = "0x10", .result = "cover"});
    probeload_question numbers{};
    numbers.place = kGetpgid;
    numbers.result = "count";
    numbers.pid = 7;
    probeload_measurement* measurement = nullptr;
    EXPECT_EQ(probeload_measure(&numbers, sizeof numbers, &measurement), -PROBELOAD_USAGE);
    EXPECT_STREQ(probeload_message(), "pid 7: set the flag PROBELOAD_ONLY_PID for it");
    EXPECT_EQ(probeload_measure(nullptr, sizeof numbers, &measurement), -PROBELOAD_USAGE);
    EXPECT_EQ(measurement, nullptr);
    EXPECT_EQ(probeload_measured(nullptr, 1), nullptr);
    EXPECT_EQ(probeload_how_measured(nullptr), nullptr);
    EXPECT_EQ(probeload_stop_measuring(nullptr), -PROBELOAD_USAGE);
    probeload_close_measurement(nullptr);
}

TEST(Measurement, SaysOfAPatternInANameThatItIsNone) {
    const probeload::Measurement measurement(
        {.place = kGetpgid, .result = "count", .tasks = {.comm = "get*"}});
    EXPECT_TRUE(has(measurement.how(), "--comm get*: a name is compared as it is"))
        << measurement.how();
}

// What the kernel and libbpf then refuse is told by errors, and nothing is printed.
TEST(Measurement, WithoutDescriptorsSaysSo) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    for (const rlim_t most : {3, 5, 7, 9, 12})
        for (const char* const result : {"hist rdi", "cover", "count", "latency"}) {
            probeload::Question question{.place = kGetpgid, .result = result};
            if (result == std::string("latency")) question.to = std::string(kGetpgid) + ":return";
            testing::internal::CaptureStderr();
            const rlimit few{most, before.rlim_max};
            setrlimit(RLIMIT_NOFILE, &few);
            try {
                probeload::Measurement measurement(question);
                measurement.stop();
                EXPECT_NE(measurement.results(), "");
            } catch (const probeload::Error& error) {
                EXPECT_NE(error.code(), PROBELOAD_NO_SUCH_SITE) << most << error.what();
                EXPECT_FALSE(has(error.what(), "max_size")) << most << error.what();
            }
            setrlimit(RLIMIT_NOFILE, &before);
            EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << most << result;
        }
}

TEST(Measurement, ManyShareTheKernelsSymbols) {
    const auto used_kib = [] {
        std::ifstream status("/proc/self/status");
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
        return 0UL;
    };
    std::vector<probeload::Measurement> all;
    all.emplace_back(probeload::Question{.place = kGetpgid, .result = "count"});
    const unsigned long one = used_kib();
    for (int i = 0; i < 20; ++i)
        all.emplace_back(probeload::Question{.place = kGetpgid, .result = "count"});
    // Under pressure the kernel may also take pages back.
    EXPECT_LT(used_kib(), one + 60'000U);
}

TEST(Measurement, TwoThreadsMeasureAtOnce) {
    const auto measure = [] {
        const std::string text = measured({.place = kGetpgid, .result = "count"}, [] {});
        EXPECT_TRUE(has(text, "\"total\":0,")) << text;
    };
    // What gtest captures is the process's.
    const auto once = [] {
        probeload::Measurement measurement({.place = "__x64_sys_getsid", .result = "cover"});
        measurement.stop();
        EXPECT_TRUE(has(measurement.results(), "\"covered\":1,"));
    };
    std::thread first(once), second(once);
    first.join();
    second.join();
    measure();
}

TEST(Lines, SayWhatIsMissing) {
    try {
        (void)probeload::lines("vfs_*");
        ADD_FAILURE() << "no error";
    } catch (const probeload::Error& error) {
        EXPECT_EQ(error.code(), PROBELOAD_USAGE) << error.what();
    }
    EXPECT_EQ(probeload_lines(nullptr, nullptr), nullptr);
    EXPECT_EQ(probeload_code(), PROBELOAD_USAGE);
    EXPECT_EQ(probeload_lines("vfs_read", "/nonexistent"), nullptr);
    EXPECT_EQ(probeload_code(), PROBELOAD_BAD_FILE);
}

}  // namespace
