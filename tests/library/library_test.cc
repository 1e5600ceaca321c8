// SPDX-License-Identifier: GPL-2.0
// libprobeload where there is no module: what it says, and what it leaves alone.
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <sys/time.h>

#include <chrono>
#include <climits>
#include <cstdarg>
#include <filesystem>
#include <probeload.hpp>
#include <string>
#include <thread>

namespace {

const std::string kObject = DJPROBE_BPF_DIR "/vfs_read.bpf.o";

template <typename Function>
std::string error_of(probeload_error code, Function&& function) {
    testing::internal::CaptureStderr();
    std::string text;
    try {
        function();
        ADD_FAILURE() << "no error";
    } catch (const probeload::Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        text = error.what();
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    return text;
}

std::string open_error(probeload_error code, const std::string& file) {
    return error_of(code, [&] { probeload::Object object(file); });
}

TEST(Library, SaysItsVersion) {
    EXPECT_STREQ(probeload_version(), DJPROBE_VERSION);
}

TEST(Library, WithoutTheModuleSaysWhatToDo) {
    if (std::filesystem::exists("/dev/djprobe")) GTEST_SKIP() << "the module is loaded";
    const std::string text = error_of(PROBELOAD_NOT_LOADED, [] { probeload::check(); });
    EXPECT_EQ(text,
              "no /dev/djprobe: load the module first (modprobe djprobe, or insmod djprobe.ko)");
}

TEST(Library, TakesOnlyObjectFiles) {
    EXPECT_EQ(open_error(PROBELOAD_USAGE, "x.bpf.c"),
              "'x.bpf.c': libprobeload takes only object files (.bpf.o)");
    EXPECT_EQ(open_error(PROBELOAD_USAGE, "-"),
              "'-': libprobeload takes only object files (.bpf.o)");
    EXPECT_EQ(open_error(PROBELOAD_USAGE, ""), "'': libprobeload takes only object files (.bpf.o)");
    EXPECT_EQ(open_error(PROBELOAD_BAD_FILE, "/nonexistent.bpf.o"),
              "/nonexistent.bpf.o: No such file or directory");
    open_error(PROBELOAD_BAD_FILE, "/proc/self/exe");
}

TEST(Library, NullIsAnErrorAndNoCrash) {
    EXPECT_EQ(probeload_open(nullptr, nullptr), -PROBELOAD_USAGE);
    EXPECT_STREQ(probeload_message(), "object is null");
    EXPECT_EQ(probeload_load(nullptr), -PROBELOAD_USAGE);
    EXPECT_EQ(probeload_json(nullptr, nullptr), nullptr);
    EXPECT_EQ(probeload_code(), PROBELOAD_USAGE);
    EXPECT_EQ(probeload_count(nullptr, nullptr, 0), -PROBELOAD_USAGE);
    EXPECT_STREQ(probeload_message(), "probe is null");
    probeload_close(nullptr);
    probeload_detach(nullptr);
}

TEST(Library, CallOutOfOrderIsAnError) {
    probeload::Object object(kObject);
    const std::string text = kObject + " is not loaded: call probeload_load() first";
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { static_cast<void>(object.attach()); }), text);
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { static_cast<void>(object.map_fd("events")); }), text);
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { static_cast<void>(object.lost()); }), text);
    EXPECT_EQ(error_of(PROBELOAD_USAGE,
                       [&] { static_cast<void>(object.attach({.site = "vfs_read", .flags = 4})); }),
              "flags 0x4 are not all known");
}

TEST(Library, GlobalThatIsNotThereIsAnError) {
    probeload::Object object(kObject);
    error_of(PROBELOAD_USAGE, [&] { object.set_global("nothing=1"); });
    EXPECT_NO_THROW(object.set_global("lost=1"));
    EXPECT_NO_THROW(object.set_map("events.max_entries=4096"));
}

TEST(Library, ObjectThatCouldNotBeLoadedIsOnlyToBeClosed) {
    probeload::Object object(kObject);
    // No power of two: the kernel refuses it, also from one who may load.
    object.set_map("events.max_entries=4294967295");
    EXPECT_THROW(object.load(), probeload::Error);
    const std::string text = kObject + " could not be loaded: close it";
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { object.load(); }), text);
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { object.set_global("lost=1"); }), text);
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { static_cast<void>(object.attach()); }), text);
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { static_cast<void>(object.poll_fd()); }), text);
}

TEST(Library, WaitsAreNoLongerThanAnIntHas) {
    using namespace std::chrono_literals;
    EXPECT_EQ(probeload::detail::timeout_ms(0ms), 0);
    EXPECT_EQ(probeload::detail::timeout_ms(1h), 3'600'000);
    EXPECT_EQ(probeload::detail::timeout_ms(1000h), INT_MAX);
    EXPECT_EQ(probeload::detail::timeout_ms(std::chrono::milliseconds::max()), INT_MAX);
    EXPECT_EQ(probeload::detail::timeout_ms(-1ms), -1);
    EXPECT_EQ(probeload::detail::timeout_ms(std::chrono::milliseconds::min()), -1);
}

TEST(Library, MessageBelongsToItsThread) {
    open_error(PROBELOAD_USAGE, "x.bpf.c");
    const std::string before = probeload_message();
    std::thread([] {
        EXPECT_STREQ(probeload_message(), "");
        EXPECT_EQ(probeload_code(), 0);
        probeload_open("y.bpf.c", nullptr);
    }).join();
    EXPECT_EQ(probeload_message(), before);
}

int prints = 0;

int print(libbpf_print_level, const char*, std::va_list) {
    ++prints;
    return 0;
}

TEST(Library, GivesLibbpfsPrintFunctionBack) {
    libbpf_set_print(print);
    probeload::Object object(kObject);
    open_error(PROBELOAD_BAD_FILE, "/proc/self/exe");
    EXPECT_EQ(prints, 0);
    EXPECT_EQ(libbpf_set_print(print), print);
    EXPECT_EQ(bpf_object__open_file("/nonexistent.bpf.o", nullptr), nullptr);
    EXPECT_GT(prints, 0);
}

// probeload's guard against damaged objects, and its handlers of signals, would end it.
TEST(Library, LeavesTheCallersTimersAlone) {
    for (const auto timer : {ITIMER_REAL, ITIMER_PROF}) {
        const itimerval long_time = {{0, 0}, {1000, 0}};
        setitimer(timer, &long_time, nullptr);
        {
            const probeload::Object object(kObject);
            open_error(PROBELOAD_BAD_FILE, "/proc/self/exe");
        }
        itimerval left = {};
        getitimer(timer, &left);
        EXPECT_GT(left.it_value.tv_sec, 900);
        const itimerval never = {};
        setitimer(timer, &never, nullptr);
    }
}

}  // namespace
