// SPDX-License-Identifier: GPL-2.0
// Kprobes of the kernel's own and its function tracer at and around our sites. They may make each
// other refuse; they must not make each other lose calls or corrupt text.
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "../harness/fixture.h"
#include "../harness/kprobe_event.h"
#include "kernel/kcore.h"

namespace djprobe::vm {
namespace {

constexpr const char* kTarget = "do_getpgid";
constexpr uint64_t kCalls = 200;

class Mainline : public ProbeTest {
  protected:
    /// The first places of the target, in order.
    std::vector<uint64_t> places() {
        std::vector<uint64_t> offsets;
        for (const Probe& probe : attach_everywhere(device_, counter(), kTarget, 3))
            offsets.push_back(probe.query().offset);
        EXPECT_EQ(offsets.size(), 3u);
        return offsets;
    }
    static void call() { EXPECT_EQ(call_getpgid(kCalls), 0u); }

    struct Kernels {
        Object object{"count"};
        Object::Link link;
        uint64_t counted() const { return object.sum("count", 0); }
    };
    static void start(Kernels& kernels, uint64_t offset, const char* symbol = kTarget) {
        kernels.link = kernels.object.kernel_kprobe("on_hit", symbol, offset, 0);
    }
    /// Runs the load; each of those that are there must count it.
    static void expect_both_count(const Probe* ours, const Kernels* theirs, const char* when) {
        const uint64_t ours_before = ours ? ours->hits() : 0;
        const uint64_t theirs_before = theirs ? theirs->counted() : 0;
        call();
        if (ours) {
            EXPECT_EQ(ours->hits() - ours_before, kCalls) << when << ", ours";
        }
        if (theirs) {
            EXPECT_EQ(theirs->counted() - theirs_before, kCalls) << when << ", theirs";
        }
    }
};

TEST_F(Mainline, KprobesThatWereThereBefore) {
    for (const uint64_t place : places())
        for (const djprobe_mode mode : kBothModes) {
            SCOPED_TRACE("+" + std::to_string(place) + " mode " + std::to_string(mode));
            Kernels theirs;
            start(theirs, place);
            ASSERT_TRUE(theirs.link);
            Probe ours = device_.must_attach(at(kTarget, 0, mode));
            std::printf("before, at +%lu, mode %d: %s\n", place, mode,
                        describe(static_cast<djprobe_reason>(ours.settle().reason)).c_str());
            expect_both_count(&ours, &theirs, "both");
            if (place % 2) {
                theirs.link.reset();
                expect_both_count(&ours, nullptr, "theirs removed");
                ours.detach();
            } else {
                ours.detach();
                expect_both_count(nullptr, &theirs, "ours removed");
                theirs.link.reset();
            }
            call();
        }
}

TEST_F(Mainline, KprobesThatComeAfter) {
    for (const uint64_t place : places())
        for (const djprobe_mode mode : kBothModes)
            for (const bool ours_first : {false, true}) {
                SCOPED_TRACE("+" + std::to_string(place) + " mode " + std::to_string(mode) +
                             (ours_first ? " ours leaves first" : " theirs leaves first"));
                Probe ours = device_.must_attach(at(kTarget, 0, mode));
                expect_mechanism(ours, mode);
                Kernels theirs;
                start(theirs, place);
                const bool accepted = theirs.link != nullptr;
                const uint64_t before = accepted ? theirs.counted() : 0;
                const uint64_t ours_before = ours.hits();
                call();
                const uint64_t counted = accepted ? theirs.counted() - before : 0;
                const uint64_t ours_counted = ours.hits() - ours_before;
                std::printf("after, at +%lu, mode %d: %s %lu, ours %lu\n", place, mode,
                            accepted ? "accepted, counts" : "refused", counted, ours_counted);
                EXPECT_EQ(ours_counted, kCalls);
                EXPECT_EQ(counted, accepted ? kCalls : 0);
                if (ours_first) ours.detach();
                theirs.link.reset();
                call();
                if (!ours_first) {
                    expect_both_count(&ours, nullptr, "alone again");
                    ours.detach();
                }
                call();
                // What was busy is free again.
                const Probe again = device_.must_attach(at(kTarget, 0, mode));
                expect_mechanism(again, mode);
                expect_both_count(&again, nullptr, "again");
            }
}

// It has written nothing, and what it does later does not hurt us.
TEST_F(Mainline, ADisabledKprobeIsNoObstacle) {
    const std::vector<uint64_t> all = places();
    int tried = 0;
    for (const uint64_t theirs_at : all)
        for (const uint64_t ours_at : all)
            for (const djprobe_mode mode : kBothModes) {
                SCOPED_TRACE("theirs +" + std::to_string(theirs_at) + " ours +" +
                             std::to_string(ours_at) + " mode " + std::to_string(mode));
                KprobeEvent theirs("disabled");
                ASSERT_EQ(theirs.add(address_of(kTarget) + theirs_at), 0);
                Probe ours = device_.must_attach(at(kTarget, ours_at, mode));
                ours.settle();
                expect_both_count(&ours, nullptr, "theirs disabled");
                ASSERT_EQ(theirs.enable(true), 0);
                expect_both_count(&ours, nullptr, "theirs enabled");
                EXPECT_EQ(theirs.counts().hits, kCalls);
                ASSERT_EQ(theirs.enable(false), 0);
                expect_both_count(&ours, nullptr, "theirs disabled again");
                ours.detach();
                ASSERT_EQ(theirs.enable(true), 0);
                call();
                EXPECT_EQ(theirs.counts().hits, 2 * kCalls);
                ++tried;
            }
    EXPECT_GE(tried, 8);
}

bool is_optimized(uint64_t address) {
    std::ifstream list("/sys/kernel/debug/kprobes/list");
    for (std::string line; std::getline(list, line);)
        if (std::stoull(line, nullptr, 16) == address)
            return line.find("[OPTIMIZED]") != std::string::npos;
    return false;
}

// The kernel's jump optimizer knows nothing of us: it must not be led to write over our bytes.
class Optimized : public Mainline {
  protected:
    static constexpr const char* kFunction = "vfs_read";
    static constexpr useconds_t kUntilOptimized = 500'000;

    void SetUp() override {
        std::vector<uint64_t> offsets;
        for (const Probe& probe : attach_everywhere(device_, counter(), kFunction, 10))
            offsets.push_back(probe.query().offset);
        for (const uint64_t offset : offsets) {
            Kernels theirs;
            start(theirs, offset, kFunction);
            usleep(kUntilOptimized);
            if (!is_optimized(address_of(kFunction) + offset)) continue;
            theirs_at_ = offset;
            for (const uint64_t inside : offsets)
                if (inside > offset && inside < offset + 5) inside_.push_back(inside);
            if (!inside_.empty()) return;
        }
        FAIL() << "the kernel turns no kprobe at the start of " << kFunction << " into a jump";
    }
    void expect_both_count(const Probe* ours, const Kernels* theirs, const char* when) {
        // The first count reads a file, to learn how many CPUs there are.
        const uint64_t theirs_before = theirs ? theirs->counted() : 0;
        const uint64_t ours_before = ours ? ours->hits() : 0;
        EXPECT_EQ(reader_.read(kCalls), 0u);
        if (ours) {
            EXPECT_EQ(ours->hits() - ours_before, kCalls) << when << ", ours";
        }
        if (theirs) {
            EXPECT_EQ(theirs->counted() - theirs_before, kCalls) << when << ", theirs";
        }
    }

    /// Where a kprobe of theirs has just left: some kernels take its jump away later.
    Answer attach_behind_theirs(const Request& wanted) {
        for (int tries = 0;; tries++) {
            const bool is_there = jump_is_there();
            Answer answer = device_.attach(wanted);
            if (answer.error != -EBUSY || !is_there || tries == 100) return answer;
            usleep(100'000);
        }
    }
    /// The kernel's kprobe, or its jump, is in the text.
    bool jump_is_there() {
        const auto byte = memory_.read(address_of(kFunction) + theirs_at_, 1).at(0);
        return byte == 0xcc || byte == 0xe9;
    }

    uint64_t theirs_at_ = 0;
    std::vector<uint64_t> inside_;  ///< instructions that their jump covers

  private:
    Reader reader_;
    const loader::Kcore memory_;
};

TEST_F(Optimized, KprobesThatWereThereBefore) {
    for (const uint64_t ours_at : inside_)
        for (const djprobe_mode mode : kBothModes)
            for (const useconds_t wait : {0u, kUntilOptimized}) {
                SCOPED_TRACE("ours at +" + std::to_string(ours_at) + " mode " +
                             std::to_string(mode) + " after " + std::to_string(wait) + " us");
                Kernels theirs;
                start(theirs, theirs_at_, kFunction);
                ASSERT_TRUE(theirs.link);
                usleep(wait);
                Answer answer = device_.attach(at(kFunction, ours_at, mode));
                // Also before they have written anything: they will, whatever is there by then.
                EXPECT_EQ(answer.error, -EBUSY);
                EXPECT_EQ(describe(answer.reason), describe(DJPROBE_REASON_FOREIGN_PATCH));
                usleep(kUntilOptimized);
                expect_both_count(nullptr, &theirs, "theirs");
                theirs.link.reset();
                answer = attach_behind_theirs(at(kFunction, ours_at, mode));
                ASSERT_EQ(answer.error, 0) << describe(answer.reason);
                expect_both_count(&answer.probe, nullptr, "ours");
            }
}

TEST_F(Optimized, KprobesThatComeAfter) {
    for (const uint64_t ours_at : inside_)
        for (const djprobe_mode mode : kBothModes)
            for (const bool at_once : {false, true}) {
                SCOPED_TRACE("ours at +" + std::to_string(ours_at) + " mode " +
                             std::to_string(mode) + (at_once ? " at once" : ""));
                const Answer answer = attach_behind_theirs(at(kFunction, ours_at, mode));
                ASSERT_EQ(answer.error, 0) << describe(answer.reason);
                const Probe& ours = answer.probe;
                // At once both optimizers have their work before them.
                if (!at_once) ours.settle();
                Kernels theirs;
                start(theirs, theirs_at_, kFunction);
                const bool accepted = theirs.link != nullptr;
                usleep(kUntilOptimized);
                ours.settle();
                expect_both_count(&ours, accepted ? &theirs : nullptr, "both");
                theirs.link.reset();
                expect_both_count(&ours, nullptr, "ours");
                // Not earlier: the reader of this output enters the function, too.
                std::printf("ours at +%lu mode %d, theirs after it%s: %s\n", ours_at, mode,
                            at_once ? " at once" : "", accepted ? "accepted" : "refused");
            }
}

// While the kernel writes its jump, the bytes behind its int3 are of two minds: no instruction may
// seem to begin in the middle of another.
TEST_F(Optimized, BoundariesWhileTheirJumpComesAndGoes) {
    constexpr uint64_t kBytes = 48;
    constexpr auto kDuration = std::chrono::seconds(4);
    const uint64_t start_at = address_of(kFunction);
    const auto explain = [&](uint64_t offset) {
        const Explained explained = device_.explain(at_address(start_at + offset));
        EXPECT_EQ(explained.error, 0);
        return explained.answer;
    };
    std::vector<uint64_t> within;
    for (uint64_t offset = 0; offset < kBytes; ++offset)
        if (explain(offset).reason == DJPROBE_REASON_NOT_BOUNDARY) within.push_back(offset);
    ASSERT_FALSE(within.empty());

    std::atomic<bool> stop{false};
    unsigned came = 0;
    std::thread theirs([&] {
        for (useconds_t wait = 0; !stop; wait = (wait + 37'000) % kUntilOptimized, ++came) {
            Kernels kprobe;
            start(kprobe, theirs_at_, kFunction);
            usleep(wait);
        }
    });
    uint64_t asked = 0;
    const auto end = std::chrono::steady_clock::now() + kDuration;
    while (std::chrono::steady_clock::now() < end)
        for (const uint64_t offset : within) {
            EXPECT_EQ(explain(offset).verdict, DJPROBE_VERDICT_REFUSED) << "+" << offset;
            ++asked;
        }
    stop = true;
    theirs.join();
    std::printf("asked %lu times while a kprobe came %u times\n", asked, came);
    EXPECT_GT(asked, 0u);
    EXPECT_GT(came, 0u);
}

// A kprobe stands on the very branch that keeps us from jumping. (Their jumps never displace one:
// the kernel's optimizer copies no branch.)
TEST_F(Mainline, ABranchUnderAKprobeIsStillSeen) {
    int asked = 0;
    for (const char* function :
         {"vfs_read", "vfs_write", "do_sys_openat2", "seq_read_iter", "prepend_path"}) {
        const uint64_t start_at = address_of(function);
        int here = 0;
        for (uint64_t offset = 0; here < 4; ++offset) {
            const auto [past_end, before] = device_.explain(at(function, offset));
            if (past_end) {
                EXPECT_EQ(past_end, -ERANGE);
                break;
            }
            if (before.reason != DJPROBE_REASON_BRANCH_INTO_REGION) continue;
            const uint64_t branch = before.detail[0];
            if (branch <= start_at || branch - start_at > 0x1000) continue;
            Kernels theirs;
            start(theirs, branch - start_at, function);
            if (!theirs.link) continue;
            const djprobe_explain after = device_.explain(at(function, offset)).answer;
            // Right behind theirs there may be no site at all.
            if (after.verdict == DJPROBE_VERDICT_REFUSED) continue;
            ++here;
            EXPECT_EQ(after.verdict, before.verdict) << function << "+" << offset;
            EXPECT_EQ(after.reason, before.reason) << function << "+" << offset;
            EXPECT_EQ(after.detail[0], branch) << function << "+" << offset;
        }
        asked += here;
    }
    EXPECT_GT(asked, 3);
}

/// The function tracer on one function.
class Tracer {
  public:
    Tracer() {
        write("set_ftrace_filter", kTarget);
        write("current_tracer", "function");
    }
    ~Tracer() {
        write("current_tracer", "nop");
        write("set_ftrace_filter", "");
    }
    static uint64_t seen() {
        std::ifstream trace("/sys/kernel/tracing/trace");
        uint64_t lines = 0;
        for (std::string line; std::getline(trace, line);)
            lines += line.find(std::string(kTarget) + " <-") != std::string::npos;
        return lines;
    }

  private:
    static void write(const char* file, const char* text) {
        std::ofstream stream(std::string("/sys/kernel/tracing/") + file);
        stream << text;
        stream.close();
        EXPECT_TRUE(stream) << file;
    }
};

TEST_F(Mainline, TheFunctionTracerBeforeAndAfter) {
    for (const djprobe_mode mode : kBothModes) {
        {
            const Tracer tracer;
            const Probe probe = device_.must_attach(at(kTarget, 0, mode));
            expect_mechanism(probe, mode);
            expect_both_count(&probe, nullptr, "tracer first");
            EXPECT_EQ(Tracer::seen(), kCalls);
        }
        const Probe probe = device_.must_attach(at(kTarget, 0, mode));
        expect_mechanism(probe, mode);
        {
            const Tracer tracer;
            expect_both_count(&probe, nullptr, "tracer second");
            EXPECT_EQ(Tracer::seen(), kCalls);
        }
        expect_both_count(&probe, nullptr, "tracer gone");
    }
}

}  // namespace
}  // namespace djprobe::vm
