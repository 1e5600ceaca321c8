// SPDX-License-Identifier: GPL-2.0
// Conditions in front of a program: a hit that does not pass is none, by all means.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "../harness/kprobe_event.h"
#include "../harness/observer.h"

namespace djprobe::vm {
namespace {

using Conditions = std::vector<djprobe_action>;

constexpr uint8_t kResult = 0, kFirst = 7;
/// Its only argument is an int. No other task in the guest calls it.
constexpr const char* kCallee = "do_getpgid";
constexpr uint32_t kShadow = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW;

djprobe_action compare(int operation, uint8_t reg, uint64_t value, uint8_t flags = 0) {
    return {static_cast<uint8_t>(operation), reg, 4, flags, 0, value};
}
djprobe_action of_process(int operation, uint64_t process) {
    return compare(operation, DJPROBE_TASK_TGID, process, DJPROBE_ACTION_TASK);
}

class Front : public ObserverTest {
  protected:
    void TearDown() override {}

    /// What the sites have, beside their conditions.
    struct Way {
        int prog_fd;
        djprobe_mode mode = DJPROBE_MODE_AUTO;
        uint32_t flags = 0;       ///< of the request
        uint32_t site_flags = 0;  ///< of each site
    };
    ManyAnswer attach(const Conditions& conditions, const Way& way, const char* symbol = kCallee) {
        std::vector<djprobe_site> sites(1);
        sites[0].symbol = reinterpret_cast<uintptr_t>(symbol);
        sites[0].cookie = 1;
        sites[0].flags = way.site_flags;
        return device_.attach_many(sites, way.prog_fd, way.mode, way.flags, conditions);
    }
    Probe must_attach(const Conditions& conditions, const Way& way, const char* symbol = kCallee) {
        ManyAnswer answer = attach(conditions, way, symbol);
        EXPECT_EQ(answer.error, 0) << describe(djprobe_reason(answer.request.reason));
        return std::move(answer.probes);
    }
    int observe() const { return object().program("observe"); }
    void expect_refused(const Conditions& list, const Way& way, int error, djprobe_reason reason,
                        uint64_t index) {
        const ManyAnswer answer = attach(list, way);
        EXPECT_EQ(answer.error, error);
        EXPECT_EQ(describe(djprobe_reason(answer.request.reason)), describe(reason));
        EXPECT_EQ(answer.request.detail[0], index);
    }
};

// By a program that is called directly, by one that sees all registers, and beside others.
TEST_F(Front, AHitThatDoesNotPassIsNeitherHitNorMissed) {
    const Conditions conditions = {compare(DJPROBE_ACTION_IF_GE, kFirst, 10),
                                   compare(DJPROBE_ACTION_IF_LT, kFirst, 110)};
    for (const int program : {counter(), observe()})
        for (const bool shared : {false, true})
            for (const djprobe_mode mode : kBothModes) {
                forget(1);
                const Probe probe = must_attach(conditions, {program, mode});
                Probe other;
                if (shared) other = device_.must_attach(at(kCallee, 0, mode));
                expect_mechanism(probe, mode);
                const uint64_t before = counted();
                for (int call = 0; call < 300; ++call)
                    getpgid(call);
                EXPECT_EQ(probe.hits(), 100u);
                EXPECT_EQ(missed(probe.query()), 0u);
                EXPECT_EQ(probe.query().flags, unsigned{DJPROBE_ATTACH_FILTERED});
                if (program == observe()) {
                    EXPECT_EQ(seen(1).hits, 100u);
                    EXPECT_EQ(uint32_t(seen(1).regs[OBSERVE_DI]), 109u);
                } else {
                    EXPECT_EQ(counted() - before, 100u + (shared ? 300 : 0));
                }
                if (!shared) continue;
                EXPECT_EQ(other.hits(), 300u);
                EXPECT_EQ(other.query().flags, 0u);
                // Alone it has its own code again.
                other.detach();
                expect_mechanism(probe, mode);
                for (int call = 0; call < 300; ++call)
                    getpgid(call);
                EXPECT_EQ(probe.hits(), 200u);
            }
}

TEST_F(Front, OnlyTheProcessThatWasNamedIsSeen) {
    const auto ours = static_cast<uint64_t>(getpid());
    for (const djprobe_mode mode : kBothModes) {
        const Probe own = must_attach({of_process(DJPROBE_ACTION_IF_EQ, ours)}, {counter(), mode});
        const Probe others =
            must_attach({of_process(DJPROBE_ACTION_IF_NE, ours)}, {counter(), mode}, kGetpgid);
        expect_mechanism(own, mode);
        expect_mechanism(others, mode);
        call_getpgid(20);
        if (const pid_t child = fork()) {
            waitpid(child, nullptr, 0);
        } else {
            call_getpgid(7);
            _exit(0);
        }
        EXPECT_EQ(own.hits(), 20u);
        EXPECT_EQ(others.hits(), 7u);
        EXPECT_EQ(missed(own.query()) + missed(others.query()), 0u);
    }
}

TEST_F(Front, PassesAndTurnsAwayOnAllCpus) {
    for (const djprobe_mode mode : kBothModes) {
        const Probe all =
            must_attach({compare(DJPROBE_ACTION_IF_EQ, kFirst, 0)}, {counter(), mode});
        expect_mechanism(all, mode);
        EXPECT_EQ(call_getpgid(20'000, 4), 0u);
        EXPECT_EQ(all.hits(), 80'000u);
        EXPECT_EQ(missed(all.query()), 0u);
        all.enable(false);
        const Probe none =
            must_attach({compare(DJPROBE_ACTION_IF_NE, kFirst, 0)}, {counter(), mode});
        expect_mechanism(none, mode);
        EXPECT_EQ(call_getpgid(20'000, 4), 0u);
        EXPECT_EQ(none.hits(), 0u);
        EXPECT_EQ(missed(none.query()), 0u);
    }
}

TEST_F(Front, BesideAKprobeOfTheKernelItDoesTheSame) {
    KprobeEvent theirs("theirs");
    ASSERT_EQ(theirs.add(device_.explain(at(kCallee)).answer.address), 0);
    ASSERT_EQ(theirs.enable(true), 0);
    const Probe probe = must_attach({compare(DJPROBE_ACTION_IF_LT, kFirst, 3)}, {counter()});
    EXPECT_EQ(probe.settle().reason, unsigned{DJPROBE_REASON_SHARED_KPROBE});
    for (const int call : {0, 1, 2, 3, 1000, -1})
        getpgid(call);
    EXPECT_EQ(probe.hits(), 3u);
}

// The conditions are about what is there at a return, and at the entry in shadow mode.
TEST_F(Front, AtReturnsAndInShadowMode) {
    constexpr int kNobody = 4'000'000;
    const uint64_t no_such_process = uint32_t(-ESRCH);
    for (const djprobe_mode mode : kBothModes) {
        const Probe exact = must_attach({compare(DJPROBE_ACTION_IF_EQ, kResult, no_such_process)},
                                        {counter(), mode, 0, DJPROBE_ATTACH_RETURN}, kGetpgid);
        const Probe shadow = must_attach({compare(DJPROBE_ACTION_IF_EQ, kFirst, kNobody)},
                                         {observe(), mode, 0, kShadow});
        exact.settle();
        expect_mechanism(shadow, mode);
        forget(1);
        for (int call = 0; call < 10; ++call) {
            getpgid(0);
            getpgid(kNobody);
            getpgid(kNobody + 1);
        }
        EXPECT_EQ(exact.total().hits, 20u);
        EXPECT_EQ(shadow.hits(), 10u);
        EXPECT_EQ(missed(shadow.query()), 0u);
        EXPECT_EQ(seen(1).hits, 10u);
    }
}

TEST_F(Front, AsAKprobeOfTheKernelShowsIt) {
    for (const djprobe_mode mode : kBothModes) {
        forget(1);
        const Probe probe = must_attach({compare(DJPROBE_ACTION_IF_EQ, kFirst, 5)},
                                        {observe(), mode, DJPROBE_ATTACH_AS_KPROBE});
        expect_mechanism(probe, mode);
        for (int call = 0; call < 10; ++call)
            getpgid(call);
        EXPECT_EQ(probe.hits(), 1u);
        EXPECT_EQ(seen(1).hits, 1u);
    }
}

// From within another handler a hit is missed only if it was one for the program.
TEST_F(Front, WhatDoesNotPassIsNotMissedEither) {
    constexpr uint64_t kCalls = 1000;
    constexpr const char* kInner = "htab_map_update_elem";
    const auto ours = static_cast<uint64_t>(getpid());
    const Object nest("nest");
    Request outer = at(kGetpgid);
    outer.prog_fd = nest.program("nest");
    for (const djprobe_mode mode : kBothModes) {
        const Probe hit = device_.must_attach(outer);
        const Probe passes =
            must_attach({of_process(DJPROBE_ACTION_IF_EQ, ours)}, {counter(), mode}, kInner);
        const Probe filtered =
            must_attach({of_process(DJPROBE_ACTION_IF_EQ, 0)}, {observe(), mode}, kInner);
        expect_mechanism(passes, mode);
        call_getpgid(kCalls);
        EXPECT_EQ(passes.query().missed[DJPROBE_MISS_RECURSION], kCalls);
        EXPECT_EQ(missed(filtered.query()) + filtered.hits(), 0u);
    }
}

TEST_F(Front, OnlyConditionsStandThere) {
    const auto condition = compare(DJPROBE_ACTION_IF_EQ, kFirst, 0);
    const djprobe_action count = {DJPROBE_ACTION_COUNT, 0, 0, 0, 0, 0};
    const Way way = {counter()};
    constexpr auto kNoAction = DJPROBE_REASON_NO_ACTION;
    expect_refused({count}, way, -EINVAL, kNoAction, 0);
    expect_refused({condition, condition, count}, way, -EINVAL, kNoAction, 2);
    expect_refused({condition, compare(DJPROBE_ACTION_IF_EQ, 16, 0)}, way, -EINVAL, kNoAction, 1);
    // What getpgid's first instruction does not read.
    auto memory = compare(DJPROBE_ACTION_IF_EQ, kFirst, 0, DJPROBE_ACTION_MEMORY);
    memory.offset = 0x7000;
    expect_refused({condition, memory}, way, -EACCES, DJPROBE_REASON_OPERAND_MAY_FAULT, 1);
    EXPECT_EQ(attach(Conditions(DJPROBE_ACTIONS_MAX + 1, condition), way).error, -EINVAL);
    EXPECT_EQ(attach(Conditions(DJPROBE_ACTIONS_MAX, condition), way).error, 0);
}

}  // namespace
}  // namespace djprobe::vm
