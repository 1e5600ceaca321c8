// SPDX-License-Identifier: GPL-2.0
// libprobeload on a kernel with the module: as an application uses it.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <probeload.hpp>
#include <string>
#include <thread>
#include <vector>

#include "calls.h"

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNow{0};

struct FileRead {  // struct event of vfs_read.bpf.c
    std::uint64_t ts_ns;
    std::uint32_t cpu, pid, tid;
    char comm[16];
    std::uint64_t count;
    char name[48];
};

void read_file() {
    char bytes[64];
    std::ifstream("/proc/version").read(bytes, sizeof bytes);
}

bool is_ours(const probeload::Event& event) {
    return event.as<FileRead>().pid == static_cast<std::uint32_t>(getpid());
}

probeload::Object loaded(const std::string& file) {
    probeload::Object object(file);
    object.load();
    return object;
}

template <typename Function>
std::string error_of(probeload_error code, Function&& function) {
    try {
        function();
    } catch (const probeload::Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
}

TEST(Library, FindsTheModule) {
    EXPECT_NO_THROW(probeload::check());
}

TEST(Library, CountsEveryHitInBothModes) {
    const probeload::Object object = loaded("bpf/count.bpf.o");
    for (const unsigned int flags : {0U, unsigned{PROBELOAD_INT3}}) {
        const probeload::Probe probe = object.attach({.site = kGetpgid, .flags = flags});
        probe.wait();
        call_getpgid();
        const probeload_counts counts = probe.counts();
        EXPECT_EQ(counts.hits, kCalls);
        EXPECT_EQ(counts.missed, 0U);
        EXPECT_EQ(counts.jumps, flags == 0 ? 1U : 0U);
        EXPECT_EQ(counts.int3s, flags == 0 ? 0U : 1U);
        EXPECT_EQ(counts.pending + counts.out, 0U);
        const std::string text = probe.describe();
        EXPECT_TRUE(text.starts_with("attached " + std::string(kGetpgid) + "+0x")) << text;
        EXPECT_NE(text.find(flags == 0 ? ") by jump" : ") by int3: "), text.npos) << text;
    }
}

TEST(Library, TakesOffsetsAddressesAndReturns) {
    const probeload::Object object = loaded("bpf/count.bpf.o");
    const std::string text = object.attach({.site = kGetpgid}).describe();
    const std::size_t plus = text.find("+0x"), open = text.find(" (0x");
    const std::string offset = text.substr(plus, open - plus);
    const std::string address = text.substr(open + 2, text.find(')') - open - 2);
    std::vector<probeload::Probe> probes;
    probes.push_back(object.attach({.site = kGetpgid + offset}));
    probes.push_back(object.attach({.site = address}));
    probes.push_back(object.attach({.site = kGetpgid, .flags = PROBELOAD_RETURN}));
    call_getpgid();
    for (const probeload::Probe& probe : probes)
        EXPECT_EQ(probe.counts().hits, kCalls) << probe.describe();
}

TEST(Library, StoppedProbeKeepsItsCounters) {
    const probeload::Object object = loaded("bpf/count.bpf.o");
    probeload::Probe probe = object.attach({.site = kGetpgid});
    call_getpgid();
    probe.stop();
    call_getpgid();
    EXPECT_EQ(probe.counts().hits, kCalls);
    EXPECT_EQ(probe.counts().out, 1U);
}

TEST(Library, ShorterCountsOfAnOlderCallerAreFilledAndNoMore) {
    const probeload::Object object = loaded("bpf/count.bpf.o");
    probeload_probe* probe = nullptr;
    int program = object.program_fd("on_hit");
    ASSERT_EQ(probeload_attach_fd(program, kGetpgid, 0, 0, &probe), 0) << probeload_message();
    call_getpgid();
    std::array<std::uint64_t, 2> counts = {0, 77};
    EXPECT_EQ(probeload_count(probe, reinterpret_cast<probeload_counts*>(counts.data()), 8), 0);
    EXPECT_EQ(counts, (std::array<std::uint64_t, 2>{kCalls, 77}));
    for (const std::size_t wrong :
         {std::size_t{0}, std::size_t{7}, std::size_t{4097}, ~std::size_t{0}}) {
        auto* const to = reinterpret_cast<probeload_counts*>(counts.data());
        EXPECT_EQ(probeload_count(probe, to, wrong), -PROBELOAD_USAGE);
        EXPECT_EQ(probeload_message(),
                  "size " + std::to_string(wrong) + " is not that of a struct probeload_counts");
        EXPECT_EQ(counts, (std::array<std::uint64_t, 2>{kCalls, 77}));
    }
    probeload_detach(probe);
}

TEST(Library, ProbeOutlivesItsObject) {
    auto object = std::make_unique<probeload::Object>(loaded("bpf/count.bpf.o"));
    const probeload::Probe probe = object->attach({.site = kGetpgid});
    object.reset();
    call_getpgid();
    EXPECT_EQ(probe.counts().hits, kCalls);
}

TEST(Library, AttachesAProgramThatTheCallerHasLoaded) {
    bpf_object* const object = bpf_object__open_file("bpf/count.bpf.o", nullptr);
    ASSERT_TRUE(object && bpf_object__load(object) == 0);
    const int fd = bpf_program__fd(bpf_object__find_program_by_name(object, "on_hit"));
    const probeload::Probe probe(fd, {.site = kGetpgid});
    const int map = bpf_object__find_map_fd_by_name(object, "count");
    EXPECT_EQ(error_of(PROBELOAD_WRONG_PROGRAM, [&] { probeload::Probe(map, {.site = kGetpgid}); }),
              "program 'fd " + std::to_string(map) + "': not a file descriptor of a BPF program");
    bpf_object__close(object);
    call_getpgid();
    EXPECT_EQ(probe.counts().hits, kCalls);
}

TEST(Library, ReadsTypedEventsAndJson) {
    probeload::Object object = loaded("bpf/vfs_read.bpf.o");
    probeload::Probe probe = object.attach();
    read_file();
    pollfd readable = {object.poll_fd(), POLLIN, 0};
    EXPECT_EQ(poll(&readable, 1, 10'000), 1);
    probe.stop();
    int ours = 0;
    object.poll(kNow, [&](const probeload::Event& event) {
        if (!is_ours(event)) return;
        const auto read = event.as<FileRead>();
        if (std::strcmp(read.name, "version") != 0) return;
        ++ours;
        EXPECT_EQ(event.map(), "events");
        EXPECT_STREQ(read.comm, "guest_library");
        const std::string json = event.json();
        EXPECT_TRUE(json.starts_with(R"({"type":"event","name":"event","data":{"ts_ns":)")) << json;
        EXPECT_TRUE(json.ends_with(R"(,"name":"version"}})")) << json;
        EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { static_cast<void>(event.as<int>()); }),
                  "an event of 'events' has 96 bytes, and the type for it 4");
    });
    EXPECT_GE(ours, 1);
    EXPECT_EQ(object.lost(), 0U);
    EXPECT_EQ(object.poll(kNow, [](const probeload::Event&) {}), 0);
    EXPECT_EQ(poll(&readable, 1, 0), 0);
}

TEST(Library, AnEventOfNoMapIsAnErrorAndNoCrash) {
    probeload_object* object = nullptr;
    ASSERT_EQ(probeload_open("bpf/vfs_read.bpf.o", &object), 0);
    ASSERT_EQ(probeload_load(object), 0) << probeload_message();
    const probeload_event nameless = {nullptr, "", 0}, empty = {"events", nullptr, 96};
    EXPECT_EQ(probeload_json(object, &nameless), nullptr);
    EXPECT_STREQ(probeload_message(), "event->map is null");
    EXPECT_EQ(probeload_json(object, &empty), nullptr);
    EXPECT_STREQ(probeload_message(), "event->data is null");
    probeload_close(object);
}

TEST(Library, WaitsForAnEventNoLongerThanItIsTold) {
    probeload::Object object = loaded("bpf/vfs_read.bpf.o");
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(object.poll(milliseconds(100), [](const probeload::Event&) {}), 0);
    EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(100));
    const probeload::Probe probe = object.attach();
    std::thread reader([] {
        std::this_thread::sleep_for(milliseconds(100));
        read_file();
    });
    EXPECT_GE(object.poll(milliseconds(-1), [](const probeload::Event&) {}), 1);
    reader.join();
}

TEST(Library, CallbackThatThrowsEndsTheReadingBehindItsEvent) {
    probeload::Object object = loaded("bpf/vfs_read.bpf.o");
    probeload::Probe probe = object.attach();
    for (int i = 0; i < 3; ++i)
        read_file();
    probe.stop();
    const std::uint64_t sent = probe.counts().hits;
    EXPECT_THROW(object.poll(kNow, [](const probeload::Event&) { throw 1; }), int);
    EXPECT_EQ(object.poll(kNow, [](const probeload::Event&) {}), sent - 1);
}

TEST(Library, SetsWhatAToolSetsBeforeItLoads) {
    probeload::Object object("handlers/settings.bpf.o");
    for (const char* const global : {"what=READ_CALLS", "steps=1,2"})
        object.set_global(global);
    for (const char* const map :
         {"by_thread.max_entries=64", "stacks.max_entries=64", "stacks.value_size=256"})
        object.set_map(map);
    object.load();
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { object.set_global("what=READ_CALLS"); }),
              "handlers/settings.bpf.o has been loaded already");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { static_cast<void>(object.attach()); }),
              "handlers/settings.bpf.o: several programs: name one of them: on_read (SEC "
              "\"kprobe/vfs_read\"), on_write (SEC \"kprobe/vfs_write\")");
    const probeload::Probe probe = object.attach({.program = "on_read"});
    read_file();
    const auto thread = static_cast<std::uint32_t>(gettid());
    std::uint64_t seen = 0;
    EXPECT_EQ(bpf_map_lookup_elem(object.map_fd("by_thread"), &thread, &seen), 0);
    EXPECT_EQ(seen, 1U);
}

TEST(Library, OptionalProgramIsNotLoaded) {
    const probeload::Object object = loaded("handlers/pair.bpf.o");
    EXPECT_GE(object.program_fd("at_return"), 0);
    error_of(PROBELOAD_USAGE, [&] { static_cast<void>(object.program_fd("on_write")); });
}

TEST(Library, SaysWhyAPlaceIsNone) {
    const probeload::Object object = loaded("bpf/count.bpf.o");
    const auto attach = [&](const std::string& site) {
        return [&object, site] { static_cast<void>(object.attach({.site = site})); };
    };
    EXPECT_EQ(error_of(PROBELOAD_NO_SUCH_SITE, attach("no_such_function")).find("no_such_function"),
              0U);
    EXPECT_EQ(error_of(PROBELOAD_REFUSED_SITE, attach("do_int3")).find("do_int3: "), 0U);
    EXPECT_EQ(error_of(PROBELOAD_USAGE, attach("vfs_*")),
              "'vfs_*' is a pattern: libprobeload attaches to one function");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, attach("")),
              "program 'on_hit': its SEC(\"kprobe\") names no function: give a site");
}

TEST(Library, ProgramThatTheVerifierRejectsIsToldWithItsWords) {
    probeload::Object object("handlers/rejected.bpf.o");
    const std::string text = error_of(PROBELOAD_REJECTED, [&] { object.load(); });
    EXPECT_NE(text.find("rejected by the kernel's verifier; its last words:\n"), text.npos) << text;
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { static_cast<void>(object.attach()); }),
              "handlers/rejected.bpf.o could not be loaded: close it");
}

TEST(Library, ThreadsUseItAtOnce) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([i] {
            for (int round = 0; round < 5; ++round) {
                if (i % 2 == 0) {
                    probeload::Object object("handlers/rejected.bpf.o");
                    error_of(PROBELOAD_REJECTED, [&] { object.load(); });
                    continue;
                }
                const probeload::Object object = loaded("bpf/count.bpf.o");
                const probeload::Probe probe = object.attach({.site = kGetpgid});
                call_getpgid();
                EXPECT_GE(probe.counts().hits, kCalls);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
}

// probeload's handlers of signals and its guard against damaged objects would end them.
TEST(Library, LeavesTheCallersTimersAlone) {
    const itimerval long_time = {{0, 0}, {1000, 0}}, never = {};
    for (const auto timer : {ITIMER_REAL, ITIMER_PROF}) {
        setitimer(timer, &long_time, nullptr);
        {
            const probeload::Object object = loaded("bpf/vfs_read.bpf.o");
            object.attach().wait();
        }
        itimerval left = {};
        getitimer(timer, &left);
        EXPECT_GT(left.it_value.tv_sec, 900);
        setitimer(timer, &never, nullptr);
    }
}

// What it answers is tested by vm/guest/trace.sh, where its programs are compiled.
TEST(Library, SaysWhatIsWrongWithAQuestion) {
    const auto ask = [](const probeload::Question& question) {
        (void)probeload::Object::ask(question);
    };
    const std::string wrong =
        error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_read", .expressions = "count, cnt"}); });
    EXPECT_EQ(wrong.find("vfs_read has no argument `cnt`; it has file, buf, count, pos"), 0U)
        << wrong;
    EXPECT_NE(wrong.find("\n  count, cnt\n         ^^^"), wrong.npos) << wrong;
    error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_read", .condition = "count >"}); });
    error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_read", .columns = "tme"}); });
    error_of(PROBELOAD_NO_SUCH_SITE, [&] { ask({.place = "vfs_raed"}); });
    error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_*"}); });
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_read", .result = "sums"}); }),
              "result 'sums': it begins with count, sum, avg, min, max, hist or latency");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_read", .result = "sum"}); }),
              "result 'sum': write sum EXPRESSION");
    EXPECT_EQ(error_of(PROBELOAD_USAGE,
                       [&] { ask({.place = "vfs_read", .result = "hist :linear(0,9,3)"}); }),
              "result 'hist :linear(0,9,3)': write hist EXPRESSION");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_read+9", .result = "latency"}); }),
              "vfs_read+9: a latency is of calls of a whole function");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_read", .result = "count pos"}); }),
              "result 'count pos': count takes no expression");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_read", .by = "comm"}); }),
              "by 'comm': is for a result");
    EXPECT_EQ(
        error_of(PROBELOAD_USAGE,
                 [&] { ask({.place = "vfs_read", .expressions = "count", .result = "count"}); }),
        "expressions and columns are for events, and a result has none");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_read", .flags = 256}); }),
              "flags 0x100 are not all known");
    EXPECT_EQ(
        error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_read", .flags = PROBELOAD_ONCE}); }),
        "flags 0x8: 0x8 is not for this");
    EXPECT_EQ(error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_read", .to = "vfs_write"}); }),
              "to 'vfs_write': is for probeload_measure()");
    EXPECT_EQ(
        error_of(PROBELOAD_USAGE, [&] { ask({.place = "vfs_read", .tasks = {.pid = 4'194'305}}); }),
        "--pid 4194305: there is no such task");
}

TEST(Library, TakesQuestionsOfOtherVersions) {
    struct {
        probeload_question known;
        const char* more;
    } later{{}, "more"};
    later.known.place = "vfs_raed";
    probeload_object* object = nullptr;
    EXPECT_EQ(probeload_ask(&later.known, sizeof later, &object), -PROBELOAD_USAGE);
    EXPECT_EQ(probeload_message(),
              std::string("the question has parts that this version of libprobeload lacks"));
    later.more = nullptr;
    EXPECT_EQ(probeload_ask(&later.known, sizeof later, &object), -PROBELOAD_NO_SUCH_SITE);
    EXPECT_EQ(probeload_ask(&later.known, sizeof(char*), &object), -PROBELOAD_NO_SUCH_SITE);
    // What an older one does not know of is none.
    later.known.result = "nonsense";
    EXPECT_EQ(probeload_ask(&later.known, offsetof(probeload_question, result), &object),
              -PROBELOAD_NO_SUCH_SITE);
    later.known.result = nullptr;
    EXPECT_EQ(probeload_ask(&later.known, 0, &object), -PROBELOAD_USAGE);
    later.known.place = nullptr;
    EXPECT_EQ(probeload_ask(&later.known, sizeof later.known, &object), -PROBELOAD_USAGE);
    EXPECT_EQ(probeload_message(), std::string("the question's place is null"));
    EXPECT_EQ(probeload_ask(nullptr, sizeof later.known, &object), -PROBELOAD_USAGE);
    EXPECT_EQ(object, nullptr);
}

}  // namespace
