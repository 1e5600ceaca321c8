// SPDX-License-Identifier: GPL-2.0
// Probes on what handlers themselves run through.
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <utility>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

constexpr uint64_t kCallsInside = 1000;

class Recursion : public ProbeTest {
  protected:
    Request nested(const std::string& symbol, djprobe_mode mode) const {
        Request request = at(symbol, 0, mode);
        request.prog_fd = nest_.program("nest");
        return request;
    }
    Object nest_{"nest"};
};

// What the handler's helpers enter, once per hit each.
constexpr const char* kInner[] = {"htab_map_update_elem", "__bpf_ringbuf_reserve",
                                  "bpf_probe_read_kernel"};

TEST_F(Recursion, HitsFromWithinAHandlerAreCountedAsMissed) {
    for (const djprobe_mode outer_mode : kBothModes)
        for (const djprobe_mode inner_mode : kBothModes)
            for (const char* symbol : kInner) {
                SCOPED_TRACE(symbol);
                const Probe outer = device_.must_attach(nested(kGetpgid, outer_mode));
                const Probe inner = device_.must_attach(nested(symbol, inner_mode));
                expect_mechanism(outer, outer_mode);
                inner.settle();
                const djprobe_query before = inner.query();
                EXPECT_EQ(call_getpgid(kCallsInside), 0u);
                const djprobe_query after = inner.query();
                EXPECT_EQ(outer.query().hits, kCallsInside);
                EXPECT_EQ(missed(outer.query()), 0u);
                EXPECT_EQ(
                    after.missed[DJPROBE_MISS_RECURSION] - before.missed[DJPROBE_MISS_RECURSION],
                    kCallsInside);
                // No other task came by in that time.
                EXPECT_EQ(after.hits, before.hits);
                EXPECT_EQ(after.missed[DJPROBE_MISS_BPF_BUSY],
                          before.missed[DJPROBE_MISS_BPF_BUSY]);
            }
}

// A BPF program of the kernel's own kprobe is at work: ours must not run, as a second one of the
// kernel's would not.
TEST_F(Recursion, HitsFromWithinAnotherBpfProgramAreBusy) {
    for (const djprobe_mode mode : kBothModes) {
        const Probe probe = device_.must_attach(at("__bpf_ringbuf_reserve", 0, mode));
        expect_mechanism(probe, mode);
        const Object other("nest");
        const Object::Link link = other.kernel_kprobe("nest", kGetpgid, 0, 0);
        ASSERT_TRUE(link);
        const djprobe_query before = probe.query();
        EXPECT_EQ(call_getpgid(kCallsInside), 0u);
        const djprobe_query after = probe.query();
        EXPECT_EQ(other.sum("runs", 0), kCallsInside);
        EXPECT_EQ(after.hits, before.hits);
        EXPECT_EQ(after.missed[DJPROBE_MISS_BPF_BUSY] - before.missed[DJPROBE_MISS_BPF_BUSY],
                  kCallsInside);
    }
}

// The bpf(2) system call forbids programs while it updates a map: the same lock would be taken.
TEST_F(Recursion, HitsFromWithinAMapUpdateAreBusy) {
    for (const djprobe_mode mode : kBothModes) {
        const Probe probe = device_.must_attach(at("htab_map_update_elem", 0, mode));
        expect_mechanism(probe, mode);
        const djprobe_query before = probe.query();
        for (uint64_t i = 0; i < kCallsInside; ++i)
            nest_.set<uint64_t>("hash", 1, i);
        const djprobe_query after = probe.query();
        EXPECT_EQ(after.hits, before.hits);
        EXPECT_EQ(after.missed[DJPROBE_MISS_BPF_BUSY] - before.missed[DJPROBE_MISS_BPF_BUSY],
                  kCallsInside);
    }
}

/// The kernel's kprobe on what our handler runs through, where the kernel takes one: newer ones do
/// not trace the ring buffer's functions.
Object::Link kprobe_within_handler(const Object& other) {
    Object::Link link = other.kernel_kprobe("nest", "__bpf_ringbuf_reserve", 0, 0);
    return link ? std::move(link) : other.kernel_kprobe("nest", "htab_map_update_elem", 0, 0);
}

// The kernel skips it.
TEST_F(Recursion, AKprobeOfTheKernelWithinOurHandlerIsSkipped) {
    for (const djprobe_mode mode : kBothModes) {
        const Probe probe = device_.must_attach(nested(kGetpgid, mode));
        expect_mechanism(probe, mode);
        const Object other("nest");
        const Object::Link link = kprobe_within_handler(other);
        ASSERT_TRUE(link);
        EXPECT_EQ(call_getpgid(kCallsInside), 0u);
        EXPECT_EQ(probe.hits(), kCallsInside);
        EXPECT_EQ(other.sum("runs", 0), 0u);
    }
}

TEST_F(Recursion, FromManyThreadsAtOnce) {
    std::vector<Probe> probes;
    for (const char* symbol : kInner)
        probes.push_back(device_.must_attach(nested(symbol, DJPROBE_MODE_AUTO)));
    const Probe outer = device_.must_attach(nested(kGetpgid, DJPROBE_MODE_AUTO));
    expect_mechanism(outer, DJPROBE_MODE_AUTO);
    const djprobe_query before = outer.query();
    EXPECT_EQ(call_getpgid(5000, 4), 0u);
    const djprobe_query after = outer.query();
    EXPECT_EQ(after.hits + missed(after) - before.hits - missed(before), 20000u);
    EXPECT_EQ(missed(after), 0u);
    for (const Probe& probe : probes)
        EXPECT_GE(missed(probe.query()), 20000u);
}

// An NMI comes while this CPU runs a handler: what it hits is missed, and counted as that.
TEST_F(Recursion, HitsFromAnNmiDuringAHandler) {
    // It asks all other CPUs by NMI where they are.
    const auto backtrace = [] {
        std::ofstream trigger("/proc/sysrq-trigger");
        trigger << 'l';
        trigger.close();
        EXPECT_TRUE(trigger);
    };
    const Object slow("slow");
    for (const djprobe_mode outer_mode : kBothModes)
        for (const djprobe_mode inner_mode : kBothModes) {
            SCOPED_TRACE("modes " + std::to_string(outer_mode) + ", " + std::to_string(inner_mode));
            Request request = at(kGetpgid, 0, outer_mode);
            request.prog_fd = slow.program("slow");
            const Probe outer = device_.must_attach(request);
            expect_mechanism(outer, outer_mode);
            const Probe inner = device_.must_attach(at("show_regs", 0, inner_mode));
            expect_mechanism(inner, inner_mode);
            std::atomic<bool> stop{false};
            std::thread caller([&stop] {
                while (!stop)
                    getpgid(0);
            });
            // Between two calls it is no handler that an NMI interrupts.
            for (int i = 0; i < 20 && !missed(inner.query()); ++i) {
                backtrace();
                usleep(20'000);
            }
            stop = true;
            caller.join();
            const djprobe_query query = inner.query();
            EXPECT_GE(query.missed[DJPROBE_MISS_NMI], 1u);
            EXPECT_EQ(missed(query), query.missed[DJPROBE_MISS_NMI]);
            EXPECT_EQ(missed(outer.query()), 0u);
        }
}

}  // namespace
}  // namespace djprobe::vm
