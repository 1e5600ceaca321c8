// SPDX-License-Identifier: GPL-2.0
// Many sites in one call: all or none, and fast.
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <set>
#include <thread>

#include "../../symbols.h"
#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

template <class Work>
double seconds_of(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Many : public ProbeTest {
  protected:
    static djprobe_site site_at(uint64_t address, uint64_t cookie = 0) {
        djprobe_site site = {};
        site.address = address;
        site.cookie = cookie;
        return site;
    }
    static djprobe_site site_of(const char* symbol, uint64_t offset = 0) {
        djprobe_site site = {};
        site.symbol = reinterpret_cast<uint64_t>(symbol);
        site.offset = offset;
        return site;
    }

    /// Entries of functions that the module takes for sites, chosen at random.
    std::vector<djprobe_site> choose_entries(size_t count) const;
};

std::vector<djprobe_site> Many::choose_entries(size_t count) const {
    std::vector<uint64_t> functions;
    std::ifstream names("/sys/kernel/tracing/available_filter_functions");
    std::set<std::string, std::less<>> traceable{std::istream_iterator<std::string>(names), {}};
    const Kallsyms now = Kallsyms::read();
    for (const Symbol& symbol : now.symbols())
        if (symbol.module.empty() && symbol.is_text() && traceable.contains(symbol.name))
            functions.push_back(symbol.address);
    std::mt19937_64 random(count);
    std::shuffle(functions.begin(), functions.end(), random);
    std::vector<djprobe_site> sites;
    for (const uint64_t function : functions) {
        if (sites.size() == count) break;
        if (device_.explain(at_address(function)).is_site()) sites.push_back(site_at(function));
    }
    return sites;
}

TEST_F(Many, HaveOneFdWithCookiesAndCountersOfTheirOwn) {
    std::vector<djprobe_site> sites = {site_of(kGetpgid), site_of("vfs_read"), site_of(kGetpgid)};
    for (size_t i = 0; i < sites.size(); ++i)
        sites[i].cookie = 100 + i;
    const ManyAnswer many = device_.attach_many(sites, counter());
    ASSERT_EQ(many.error, 0);
    EXPECT_EQ(many.probes.settle().mechanism, DJPROBE_MECHANISM_JUMP);
    call_getpgid(10);
    EXPECT_EQ(many.probes.query(0).hits, 10u);
    EXPECT_EQ(many.probes.query(2).hits, 10u);
    EXPECT_EQ(many.probes.query(0).address, many.probes.query(2).address);
    EXPECT_EQ(many.probes.query(0).address, sites[0].address);
    EXPECT_EQ(many.probes.query(1).cookie, 101u);
    EXPECT_STREQ(many.probes.query(1).symbol, "vfs_read");
    const djprobe_total total = many.probes.total();
    EXPECT_EQ(total.count, 3u);
    EXPECT_EQ(total.states[DJPROBE_STATE_OPTIMIZED], 3u);
    EXPECT_GE(total.hits, 20u);
    djprobe_query query = {};
    query.size = sizeof query;
    query.index = 3;
    EXPECT_EQ(call_ioctl(many.probes.fd(), DJPROBE_IOC_QUERY, &query), -ERANGE);
}

TEST_F(Many, AnswerAllInOneCall) {
    std::vector<djprobe_site> sites = {site_of(kGetpgid), site_of("vfs_read"), site_of(kGetpgid)};
    const ManyAnswer many = device_.attach_many(sites, counter());
    ASSERT_EQ(many.error, 0);
    many.probes.settle();
    call_getpgid(10);
    djprobe_query answers[3] = {};
    djprobe_query_many request = {};
    request.size = sizeof request;
    request.count = 100;
    request.entry_size = sizeof answers[0];
    request.queries = reinterpret_cast<uintptr_t>(answers);
    const auto ask = [&] { return call_ioctl(many.probes.fd(), DJPROBE_IOC_QUERY_MANY, &request); };
    ASSERT_EQ(ask(), 0);
    ASSERT_EQ(request.count, 3u);
    for (uint32_t i = 0; i < 3; ++i) {
        djprobe_query one = many.probes.query(i);
        if (i == 1) one.hits = answers[i].hits;  // others read as well
        EXPECT_EQ(memcmp(&one, &answers[i], sizeof one), 0) << i;
    }
    // Without the names, and from the second one on: nothing behind them is written.
    constexpr size_t kLean = offsetof(djprobe_query, symbol);
    uint8_t bytes[3 * kLean];
    std::memset(bytes, 0xaa, sizeof bytes);
    request.first = 1;
    request.entry_size = kLean;
    request.queries = reinterpret_cast<uintptr_t>(bytes);
    ASSERT_EQ(ask(), 0);
    ASSERT_EQ(request.count, 2u);
    answers[2].size = kLean;
    EXPECT_NE(answers[2].offset, 0u) << "of no use to tell that it is not found out";
    answers[2].offset = 0;
    EXPECT_EQ(memcmp(bytes + kLean, &answers[2], kLean), 0);
    EXPECT_TRUE(
        std::all_of(bytes + 2 * kLean, std::end(bytes), [](uint8_t b) { return b == 0xaa; }));
    for (const uint32_t wrong : {0u, 4u, 12u, static_cast<uint32_t>(sizeof answers[0]) + 8}) {
        request.entry_size = wrong;
        EXPECT_EQ(ask(), -EINVAL) << wrong;
    }
    request.entry_size = kLean;
    request.count = 0;
    EXPECT_EQ(ask(), -EINVAL);
    request.count = 1;
    request.first = 3;
    EXPECT_EQ(ask(), -ERANGE);
    request.first = 0;
    request.queries = 1;
    EXPECT_EQ(ask(), -EFAULT);
}

TEST_F(Many, AreAllOrNone) {
    std::vector<djprobe_site> sites = {site_of(kGetpgid), site_of("vfs_read"),
                                       site_of("no_such_function"), site_of("vfs_write")};
    ManyAnswer many = device_.attach_many(sites, counter());
    EXPECT_EQ(many.error, -ENOENT);
    EXPECT_EQ(many.request.failed, 2u);
    EXPECT_EQ(many.request.reason, DJPROBE_REASON_NO_SUCH_SYMBOL);
    EXPECT_EQ(sites[2].reason, DJPROBE_REASON_NO_SUCH_SYMBOL);

    // Found only when the others are planned already.
    const Probe before = device_.must_attach(at("vfs_write"));
    sites[2] = site_of(kGetpgid, 1);
    many = device_.attach_many(sites, counter());
    EXPECT_EQ(many.error, -EILSEQ);
    EXPECT_EQ(many.request.failed, 2u);
    expect_mechanism(before, DJPROBE_MODE_AUTO);

    // Not the fault of any of them.
    sites.pop_back();
    sites.pop_back();
    many = device_.attach_many(sites, -1);
    EXPECT_EQ(many.error, -EBADF);
    EXPECT_EQ(many.request.failed, 2u);
    EXPECT_EQ(many.request.reason, DJPROBE_REASON_PROG_FD);

    const uint64_t counted_before = counted();
    call_getpgid(5);
    EXPECT_EQ(counted(), counted_before) << "something has been left behind";
}

TEST_F(Many, GoOnWithoutThoseThatAreRefused) {
    std::vector<djprobe_site> sites = {site_of("no_such_function"), site_of(kGetpgid),
                                       site_of(kGetpgid, 1), site_of("vfs_read")};
    const auto attach = [&] {
        return device_.attach_many(sites, counter(), DJPROBE_MODE_AUTO, DJPROBE_ATTACH_SKIP);
    };
    ManyAnswer many = attach();
    ASSERT_EQ(many.error, 0);
    EXPECT_EQ(many.request.failed, 2u);
    EXPECT_EQ(sites[0].reason, DJPROBE_REASON_NO_SUCH_SYMBOL);
    EXPECT_EQ(sites[0].flags, DJPROBE_SITE_LEFT_OUT);
    EXPECT_EQ(sites[1].flags, 0u);
    EXPECT_EQ(sites[2].reason, DJPROBE_REASON_NOT_BOUNDARY);
    EXPECT_EQ(sites[2].flags, DJPROBE_SITE_LEFT_OUT);
    many.probes.settle();
    call_getpgid(10);
    EXPECT_EQ(many.probes.total().count, 2u);
    EXPECT_EQ(many.probes.query(0).hits, 10u);
    EXPECT_STREQ(many.probes.query(1).symbol, "vfs_read");
    many.probes = {};

    // None is left: the first one's error, and all are told.
    sites = {site_of(kGetpgid, 1), site_of("no_such_function")};
    many = attach();
    EXPECT_EQ(many.error, -EILSEQ);
    EXPECT_EQ(many.request.failed, 0u);
    EXPECT_EQ(sites[1].reason, DJPROBE_REASON_NO_SUCH_SYMBOL);

    // What is no site's fault refuses all of them, and tells nothing of any.
    sites = {site_of(kGetpgid), site_of("no_such_function")};
    many = device_.attach_many(sites, -1, DJPROBE_MODE_AUTO, DJPROBE_ATTACH_SKIP);
    EXPECT_EQ(many.error, -EBADF);
    EXPECT_EQ(many.request.failed, 2u);
    EXPECT_EQ(sites[1].flags, 0u);
}

TEST_F(Many, NeighboursOverlapAsSingleOnesDo) {
    const std::vector<Probe> alone = attach_everywhere(device_, counter(), kGetpgid, 8);
    std::vector<djprobe_site> sites;
    for (const Probe& probe : alone)
        sites.push_back(site_at(probe.query().address));
    const ManyAnswer many = device_.attach_many(sites, counter());
    ASSERT_EQ(many.error, 0);
    many.probes.settle();
    call_getpgid(20);
    for (uint32_t i = 0; i < sites.size(); ++i)
        EXPECT_EQ(many.probes.query(i).hits, alone[i].hits()) << i;
}

TEST_F(Many, TenThousandAttachAndDetachInSeconds) {
    std::vector<djprobe_site> sites = choose_entries(10000);
    ASSERT_EQ(sites.size(), 10000u);
    ManyAnswer many;
    const double attached = seconds_of([&] { many = device_.attach_many(sites, counter()); });
    ASSERT_EQ(many.error, 0) << many.request.failed << " "
                             << describe(static_cast<djprobe_reason>(many.request.reason));
    const double optimized = seconds_of([&] { many.probes.settle(); });
    const djprobe_total total = many.probes.total();
    EXPECT_EQ(total.count, 10000u);
    EXPECT_GT(total.states[DJPROBE_STATE_OPTIMIZED], 9900u);
    EXPECT_EQ(total.states[DJPROBE_STATE_OPTIMIZING], 0u);
    EXPECT_GT(total.hits, 0u);
    const double detached = seconds_of([&] { many.probes.detach(); });
    std::printf("10000 sites: attached in %.2f s, optimized in %.2f s, detached in %.2f s\n",
                attached, optimized, detached);
}

/// What another one's request may wait for those that take `all` seconds together. A wait for all
/// of them is longer; a machine that is slow is so for both.
double most_seconds(double all) {
    return std::max(1.0, all / 4);
}

TEST_F(Many, OthersAreServedWhileTheyComeAndGo) {
    std::vector<djprobe_site> sites = choose_entries(10000);
    ASSERT_EQ(sites.size(), 10000u);
    const Probe own = device_.must_attach(at(kGetpgid));
    std::atomic<bool> done = false;
    double attached = 0, detached = 0;
    std::thread others([&] {
        ManyAnswer many;
        attached = seconds_of([&] { many = device_.attach_many(sites, counter()); });
        EXPECT_EQ(many.error, 0);
        detached = seconds_of([&] { many.probes.detach(); });
        done = true;
    });
    double query = 0, attach = 0, enable = 0;
    size_t rounds = 0;
    for (; !done; ++rounds) {
        query = std::max(query, seconds_of([&] { (void)own.query(); }));
        attach = std::max(attach,
                          seconds_of([&] { (void)device_.must_attach(at("__x64_sys_pread64")); }));
        enable = std::max(enable, seconds_of([&] { EXPECT_EQ(own.enable(false), 0); }));
        EXPECT_EQ(own.enable(true), 0);
    }
    others.join();
    std::printf(
        "10000 sites attached in %.2f s, detached in %.2f s; meanwhile %zu rounds, the longest "
        "query %.1f ms, attach and detach %.1f ms, disable %.1f ms\n",
        attached, detached, rounds, query * 1e3, attach * 1e3, enable * 1e3);
    // The last round may end after the others. With PREEMPT_RT each takes most of a second, in
    // which enable() waits for a quiescence.
    EXPECT_GE(rounds, 2u);
    const double most = most_seconds(attached + detached);
    EXPECT_LT(query, most);
    EXPECT_LT(attach, most);
    EXPECT_LT(enable, most);
}

TEST_F(Many, AKilledCallerIsGoneSoonAndLeavesNothing) {
    std::vector<djprobe_site> sites = choose_entries(10000);
    ASSERT_EQ(sites.size(), 10000u);
    ManyAnswer undisturbed;
    const double attached =
        seconds_of([&] { undisturbed = device_.attach_many(sites, counter()); });
    ASSERT_EQ(undisturbed.error, 0);
    const double detached = seconds_of([&] { undisturbed.probes.detach(); });
    // Early and late in the call. A VM may lose its CPU for a moment, but hardly for two of them.
    int soon = 0;
    for (const double part : {0.2, 0.5, 0.8}) {
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        const pid_t caller = fork();
        if (caller == 0) {
            (void)!write(ends[1], "a", 1);
            const ManyAnswer many = device_.attach_many(sites, counter());
            (void)!write(ends[1], "b", 1);
            pause();
            _exit(0);
        }
        close(ends[1]);
        char byte = 0;
        ASSERT_EQ(read(ends[0], &byte, 1), 1);
        usleep(static_cast<useconds_t>(attached * part * 1e6));
        const double gone = seconds_of([&] {
            kill(caller, SIGKILL);
            waitpid(caller, nullptr, 0);
        });
        const bool was_through = read(ends[0], &byte, 1) == 1;
        close(ends[0]);
        std::printf("killed after %.2f of %.2f s%s: gone in %.1f ms\n", attached * part, attached,
                    was_through ? ", when all were attached" : "", gone * 1e3);
        // What it has armed goes as in a detach, which may take longer now than it did before.
        const double armed_goes = was_through ? attached + detached : detached;
        if (gone < most_seconds(attached + detached) + armed_goes) ++soon;
        std::ifstream list("/sys/kernel/debug/djprobe/list");
        std::string line;
        EXPECT_FALSE(std::getline(list, line)) << line;
    }
    EXPECT_GE(soon, 2);
}

}  // namespace
}  // namespace djprobe::vm
