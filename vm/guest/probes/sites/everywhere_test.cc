// SPDX-License-Identifier: GPL-2.0
// Every function of the kernel at once: at its entry, at an instruction chosen by a seed, at its
// returns.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>

#include "../../symbols.h"
#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

/// Some of everything that a kernel does: processes, files, pipes, timers, memory that is taken
/// and reclaimed, a connection over loopback.
constexpr const char* kWorkload = R"(
set -eo pipefail
for i in 1 2 3 4 5; do
    dd if=/dev/zero of=/tmp/every.$i bs=4096 count=64 2>/dev/null
    cp /tmp/every.$i /tmp/every.copy
    cmp /tmp/every.$i /tmp/every.copy
    ls -lR /proc/self /sys/kernel/mm /sys/kernel/slab/dentry /sys/module/djprobe >/dev/null 2>&1 || true
    (echo a; echo b; echo c) | sort -r | head -n 2 | tail -n 1
    mkdir -p /tmp/every.d && mv /tmp/every.$i /tmp/every.d/ && rm -r /tmp/every.d
    usleep 1000
    sha256sum /bin/busybox | cut -c1-16
done
rm -f /tmp/every.copy
head -c 4000000 /dev/zero | tail -c 3000000 | sha256sum
echo 1 >/proc/sys/vm/drop_caches
nc -l -p 4321 -e sha256sum &
until head -c 300000 /bin/busybox | nc 127.0.0.1 4321 2>/dev/null; do usleep 10000; done
wait
)";

std::string run_workload() {
    FILE* const pipe = popen(kWorkload, "r");
    std::string output;
    char buffer[256];
    while (pipe && fgets(buffer, sizeof buffer, pipe))
        output += buffer;
    const int status = pipe ? pclose(pipe) : -1;
    EXPECT_EQ(status, 0) << output;
    return output;
}

class Everywhere : public ProbeTest {
  protected:
    /// One accepted site for each function of the kernel, with the first flags that it takes.
    std::vector<djprobe_site> choose(const std::function<uint64_t(uint64_t, uint64_t)>& place,
                                     const std::vector<uint32_t>& flags = {0});
    void print_refused() const;
    /// All at once; or in batches, each of them from all over the kernel, with less load.
    void attach_use_detach(const std::vector<djprobe_site>& sites, djprobe_mode mode);
    void attach_use_detach_batch(const std::vector<djprobe_site>& sites, djprobe_mode mode,
                                 const std::string& expected);

    std::map<uint32_t, size_t> refused_;
    const size_t batches_ = how_many_batches();

  private:
    static size_t how_many_batches() {
        const char* const wanted = std::getenv("DJPROBE_BATCHES");
        return wanted ? std::strtoull(wanted, nullptr, 0) : 1;
    }
};

std::vector<djprobe_site> Everywhere::choose(
    const std::function<uint64_t(uint64_t, uint64_t)>& place, const std::vector<uint32_t>& flags) {
    const std::vector<uint64_t> functions = kernel_functions(Kallsyms::read());
    std::vector<djprobe_site> sites;
    for (size_t i = 0; i + 1 < functions.size(); ++i) {
        const uint64_t chosen = place(functions[i], functions[i + 1]);
        Explained explained;
        for (size_t way = 0; way < flags.size() && !explained.is_site(); ++way) {
            Request request = at_address(chosen);
            request.flags = flags[way];
            explained = device_.explain(request);
        }
        const djprobe_explain& explain = explained.answer;
        if (!explained.is_site()) {
            ++refused_[explain.reason];
            continue;
        }
        djprobe_site site = {};
        site.address = explain.address;
        site.flags = explain.flags;
        sites.push_back(site);
    }
    return sites;
}

void Everywhere::print_refused() const {
    for (const auto& [reason, count] : refused_)
        std::printf("%6zu refused: %s\n", count,
                    describe(static_cast<djprobe_reason>(reason)).c_str());
}

void Everywhere::attach_use_detach(const std::vector<djprobe_site>& sites, djprobe_mode mode) {
    const std::string expected = run_workload();
    for (size_t batch = 0; batch < batches_; ++batch) {
        std::vector<djprobe_site> part;
        for (size_t i = batch; i < sites.size(); i += batches_)
            part.push_back(sites[i]);
        attach_use_detach_batch(part, mode, expected);
        // Who watches sees how far it is.
        std::fflush(stdout);
    }
    EXPECT_EQ(run_workload(), expected) << "when all are detached";
}

void Everywhere::attach_use_detach_batch(const std::vector<djprobe_site>& sites, djprobe_mode mode,
                                         const std::string& expected) {
    std::vector<ManyAnswer> attached;
    for (size_t begin = 0; begin < sites.size(); begin += DJPROBE_MANY_MAX) {
        const size_t end = std::min<size_t>(begin + DJPROBE_MANY_MAX, sites.size());
        std::vector<djprobe_site> part(sites.begin() + static_cast<long>(begin),
                                       sites.begin() + static_cast<long>(end));
        attached.push_back(device_.attach_many(part, counter(), mode));
        const ManyAnswer& answer = attached.back();
        ASSERT_EQ(answer.error, 0) << symbol_at(sites[begin + answer.request.failed].address) << " "
                                   << describe(static_cast<djprobe_reason>(answer.request.reason));
    }
    EXPECT_EQ(run_workload(), expected) << "at int3";
    for (const ManyAnswer& answer : attached)
        answer.probes.settle();
    EXPECT_EQ(run_workload(), expected) << "at jumps";
    if (batches_ == 1) {
        EXPECT_EQ(run_workload(), expected) << "at jumps, again";
    }
    for (const ManyAnswer& answer : attached) {
        const djprobe_total total = answer.probes.total();
        std::printf(
            "%u sites: %u by jump, %u at int3; %llu hits, missed %llu recursing, %llu "
            "while another program ran\n",
            total.count, total.states[DJPROBE_STATE_OPTIMIZED], total.states[DJPROBE_STATE_ARMED],
            total.hits, total.missed[DJPROBE_MISS_RECURSION], total.missed[DJPROBE_MISS_BPF_BUSY]);
        EXPECT_GT(total.hits, 1000u);
        // 99.6% and more were seen of entries, returns and instructions between them.
        const uint64_t jumps = total.states[DJPROBE_STATE_OPTIMIZED];
        if (mode == DJPROBE_MODE_INT3) {
            EXPECT_EQ(jumps, 0u);
        } else {
            EXPECT_GT(jumps * 10, uint64_t{total.count} * 9);
        }
    }
}

TEST_F(Everywhere, AtEveryEntry) {
    const auto sites = choose([](uint64_t begin, uint64_t) { return begin; });
    print_refused();
    EXPECT_GT(sites.size(), 20000u);
    attach_use_detach(sites, DJPROBE_MODE_AUTO);
}

TEST_F(Everywhere, AtEveryReturn) {
    const auto sites =
        choose([](uint64_t begin, uint64_t) { return begin; },
               {DJPROBE_ATTACH_RETURN, DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW});
    print_refused();
    std::printf("%zu functions\n", sites.size());
    EXPECT_GT(sites.size(), 20000u);
    attach_use_detach(sites, DJPROBE_MODE_AUTO);
}

TEST_F(Everywhere, AtARandomInstructionOfEveryFunction) {
    const char* const seed = std::getenv("DJPROBE_SEED");
    std::mt19937_64 random(seed ? std::strtoull(seed, nullptr, 0) : 1);
    const auto sites = choose([&](uint64_t begin, uint64_t end) {
        // Any byte: what is no instruction is refused and tells the one before it.
        const uint64_t any = begin + random() % (end - begin);
        const auto [error, explain] = device_.explain(at_address(any));
        const bool is_within = !error && explain.reason == DJPROBE_REASON_NOT_BOUNDARY;
        return static_cast<uint64_t>(is_within ? explain.detail[0] : explain.address);
    });
    EXPECT_GT(sites.size(), 20000u);
    attach_use_detach(sites, DJPROBE_MODE_AUTO);
}

TEST_F(Everywhere, AtEveryEntryByInt3) {
    const auto sites = choose([](uint64_t begin, uint64_t) { return begin; });
    attach_use_detach(sites, DJPROBE_MODE_INT3);
}

}  // namespace
}  // namespace djprobe::vm
