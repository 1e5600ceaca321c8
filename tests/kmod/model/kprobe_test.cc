// SPDX-License-Identifier: GPL-2.0
// Kprobes of the kernel's own at our sites: before us, on top of us, and in between.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

#include "arch/x86/analysis/plan.h"
#include "sites.h"

namespace djprobe::model {
namespace {

/// The trap of an int3 in a detour, if there is one.
const djk_trap* bypass() {
    for (const djk_trap* trap : djp_traps)
        for (; trap; trap = trap->next)
            if (trap->site && trap->site->trap.address != trap->address) return trap;
    return nullptr;
}

class ForeignOnTop : public testing::TestWithParam<std::tuple<int, bool, bool>> {};

TEST_P(ForeignOnTop, KeptAndTriedAgain) {
    const auto [program, armed, disable] = GetParam();
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 0);
    Session session(found.seed);
    Kernel& kernel = session.kernel;
    Probe* probe = session.attach_one({.address = found.address, .program = program});
    session.settle();
    ASSERT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
    ASSERT_TRUE(kernel.kprobes.add(found.address, armed));
    session.disturbed(found.address);
    if (disable)
        session.disable({probe});
    else
        session.detach({probe});
    EXPECT_EQ(kernel.kept, 1);
    EXPECT_TRUE(kernel.kicked_later);
    for (int i = 0; i < 3; ++i) {
        session.run_optimizer();
        EXPECT_EQ(kernel.kept, 1);
        EXPECT_TRUE(kernel.kicked_later);
        // The worker rests until then.
        kernel.kicked = false;
        session.run_optimizer();
        EXPECT_FALSE(kernel.kicked);
    }
    if (disable) {
        EXPECT_EQ(session.enable({probe}).reason, kForeign);
    }
    EXPECT_EQ(session.attach(std::vector<Wish>{{.address = found.address}}).reason, kForeign);
    if (!armed) kernel.kprobes.arm(found.address);
    session.check();
    ASSERT_TRUE(kernel.kprobes.remove(found.address));
    // A task may have been preempted right before the int3 in the detour: it needs a trap there as
    // long as it may come.
    std::vector<const djk_trap*> waited_for;
    kernel.on_quiesce = [&](bool) { waited_for.push_back(bypass()); };
    const bool bypassed = bypass() != nullptr;
    session.settle();
    kernel.on_quiesce = {};
    ASSERT_FALSE(waited_for.empty());
    EXPECT_EQ(waited_for.front() != nullptr, bypassed);
    EXPECT_EQ(bypass(), nullptr);
    EXPECT_EQ(kernel.kept, 0);
    session.finish();
}

INSTANTIATE_TEST_SUITE_P(All, ForeignOnTop,
                         testing::Combine(testing::Values(-1, 0), testing::Bool(),
                                          testing::Bool()));

TEST(Kprobe, CodeThatWasThereFirstKeepsItsRegisters) {
    const Crowded found = find_crowded();
    Session session(found.seed);
    Kprobes& kprobes = session.kernel.kprobes;
    const Probe* const probe =
        session.attach_one({.address = found.site, .program = Kernel::kCounter});
    ASSERT_TRUE(probe);
    const auto code = [&] {
        session.settle();
        return code_of(session, found.site);
    };
    const auto comes = [&](u64 place) {
        session.disturbed(place);
        EXPECT_TRUE(kprobes.add(place, true));
        session.run_optimizer();
    };
    const u64 lean = code();
    comes(found.elsewhere[0]);
    EXPECT_EQ(code(), lean);
    comes(found.behind[0]);
    const u64 keeps = code();
    EXPECT_NE(keeps, lean);
    comes(found.behind[1]);
    EXPECT_EQ(code(), keeps) << "it keeps all already";
    for (const u64 place : {found.behind[0], found.behind[1]})
        kprobes.remove(place);
    comes(found.elsewhere[1]);
    EXPECT_NE(code(), keeps) << "both have left";
    // More at once than the kernel's side notes: the one behind the site comes last.
    const u64 again = code();
    for (size_t i = 2; i < found.elsewhere.size(); ++i) {
        session.disturbed(found.elsewhere[i]);
        kprobes.add(found.elsewhere[i], true);
    }
    comes(found.behind[0]);
    EXPECT_NE(code(), again);
    session.finish();
}

/// What the detour at `site` begins with: how it saves what it needs, and counts.
std::vector<u8> begin_of_code(Session& session, u64 site) {
    session.settle();
    const auto* const code = reinterpret_cast<const u8*>(code_of(session, site));
    return {code, code + 14};
}

class LateKprobe : public testing::TestWithParam<bool> {};

TEST_P(LateKprobe, FindsItsRegistersAlsoWhenOneOfTwoProbesHasLeft) {
    const bool comes_first = GetParam();
    const Crowded found = find_crowded();
    Session session(found.seed);
    const Wish wish = {.address = found.site, .program = Kernel::kCounter};
    const auto comes = [&] {
        session.disturbed(found.behind[0]);
        EXPECT_TRUE(session.kernel.kprobes.add(found.behind[0], true));
        session.run_optimizer();
    };
    ASSERT_TRUE(session.attach_one(wish));
    const std::vector<u8> lean = begin_of_code(session, found.site);
    if (comes_first) comes();
    Probe* const second = session.attach_one(wish);
    ASSERT_TRUE(second);
    session.settle();
    if (!comes_first) comes();
    session.detach({second});
    session.run_optimizer();
    EXPECT_NE(begin_of_code(session, found.site), lean);
    session.finish();
}

INSTANTIATE_TEST_SUITE_P(All, LateKprobe, testing::Bool());

TEST(Kprobe, NoJumpWhereAKprobeBeforeItMayStillGetIts) {
    for (const unsigned int tactic : {DJPROBE_TACTIC_WINDOW, DJPROBE_TACTIC_SLIDE}) {
        int tried[x86::kJumpLength] = {};
        for_each_jump(tactic, false, [&](u64 seed, u64 site, const djp_verdict& alone) {
            for (u64 back = 1; back < x86::kJumpLength; ++back) {
                if (tried[back] == 3) continue;
                const u64 theirs = alone.anchor - back;
                const auto add = [&](Session& session) {
                    session.disturbed(theirs);
                    const bool added = session.kernel.kprobes.add(theirs, true);
                    return added && session.kernel.kprobes.find(theirs)->optimizable;
                };
                {
                    Session session(seed);
                    if (!session.kernel.image.place_at(theirs) || !add(session)) continue;
                    ++tried[back];
                    const djp_verdict now = session.explain(site);
                    if (site < theirs + x86::kJumpLength) {
                        EXPECT_EQ(now.verdict, DJPROBE_VERDICT_REFUSED) << back;
                    }
                    EXPECT_FALSE(now.verdict == DJPROBE_VERDICT_JUMP &&
                                 now.anchor < theirs + x86::kJumpLength &&
                                 theirs < now.anchor + now.region_len)
                        << back;
                }
                // And when it comes while the probe is being attached, or waits for its jump.
                bool came = true;
                for (int n = 0; came; ++n) {
                    Session session(seed);
                    int gaps = 0;
                    came = false;
                    session.kernel.on_gap = [&] {
                        if (gaps++ != n) return;
                        came = true;
                        add(session);
                    };
                    session.attach_one({.address = site});
                    session.settle();
                    session.kernel.on_gap = {};
                    if (session.kernel.kprobes.find(theirs))
                        session.kernel.kprobes.optimize(theirs);
                    session.finish();
                }
            }
            return *std::min_element(tried + 1, std::end(tried)) == 3;
        });
        for (u64 back = 1; back < x86::kJumpLength; ++back)
            EXPECT_GT(tried[back], 0) << "tactic " << tactic << ", " << back << " before";
    }
}

/// An instruction whose last byte may be another without more: an immediate's.
bool ends_in_immediate(const TextImage& image, const Place& place) {
    const u8 opcode = *image.original(place.start());
    return place.insn.length >= 5 && place.insn.kind == x86::Kind::Plain && !place.insn.taken &&
           (opcode == 0x05 || opcode == 0xb8 || opcode == 0x81 || opcode == 0x48) &&
           !place.insn.rip_disp_offset;
}

TEST(Kprobe, WhatChangesBetweenTheAnalysisAndTheInt3IsNotDisplaced) {
    int sites[3] = {}, pairs = 0, refused = 0;
    for (u64 seed = 0; seed < 24; ++seed) {
        std::vector<std::vector<u64>> cases;
        {
            Session session(seed);
            const TextImage& image = session.kernel.image;
            for (const Place& place : image.places) {
                if (!ends_in_immediate(image, place)) continue;
                const unsigned int verdict = session.explain(place.start()).verdict;
                if (verdict == DJPROBE_VERDICT_REFUSED || sites[verdict] == 8) continue;
                ++sites[verdict];
                cases.push_back({place.start()});
                const Place& before = *(&place - 1);
                if (before.end() != place.start() || before.function != place.function) continue;
                const djp_verdict both = session.explain(before.start());
                if (both.verdict != DJPROBE_VERDICT_JUMP || both.anchor != before.start()) continue;
                if (both.anchor + both.region_len < place.end()) continue;
                ++pairs;
                cases.push_back({before.start(), place.start()});
            }
        }
        for (const std::vector<u64>& addresses : cases)
            for (int n = 0, came = 1; came; ++n) {
                Session session(seed);
                TextImage& image = session.kernel.image;
                const u64 changed = image.place_at(addresses.back())->end() - 1;
                int gaps = 0;
                came = 0;
                session.kernel.on_gap = [&] {
                    if (gaps++ != n) return;
                    came = 1;
                    *image.text(changed) ^= 1;
                    *const_cast<u8*>(image.original(changed)) ^= 1;
                };
                for (const u64 address : addresses)
                    session.disturbed(address);
                std::vector<Wish> wishes;
                for (const u64 address : addresses)
                    wishes.push_back({.address = address});
                // The session compares what is displaced, and what would run, with the text.
                refused += session.attach(wishes).reason == kForeign;
                session.kernel.on_gap = {};
                session.settle();
                session.finish();
            }
    }
    EXPECT_GT(sites[DJPROBE_VERDICT_JUMP], 3);
    EXPECT_GT(sites[DJPROBE_VERDICT_INT3], 3);
    EXPECT_GT(pairs, 3);
    EXPECT_GT(refused, 10);
}

TEST(Kprobe, AJumpUnderAKprobeDoesNotMakeWay) {
    int seen = 0;
    for_each_jump(DJPROBE_TACTIC_SLIDE, false, [&](u64 seed, u64 site, djp_verdict verdict) {
        for (const bool armed : {false, true}) {
            Session session(seed);
            Kernel& kernel = session.kernel;
            // Farther than the kprobe's own jump would reach: nothing else forbids it.
            u64 inside = 0;
            for (u64 at = verdict.anchor + x86::kJumpLength; at < site && !inside; ++at)
                if (kernel.image.place_at(at)) inside = at;
            if (!inside) return false;
            session.attach_one({.address = site});
            session.settle();
            EXPECT_TRUE(kernel.kprobes.add(verdict.anchor, armed));
            session.disturbed(verdict.anchor);
            EXPECT_EQ(session.attach(std::vector<Wish>{{.address = inside}}).reason, kForeign);
            if (!armed) kernel.kprobes.arm(verdict.anchor);
            session.check();
            kernel.kprobes.remove(verdict.anchor);
            session.settle();
            session.finish();
        }
        return ++seen == 3;
    });
    EXPECT_GT(seen, 0);
}

TEST(Kprobe, ASiteComesBackIntoAKprobe) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 0);
    Session session(found.seed);
    Probe* probe = session.attach_one({.address = found.address});
    session.set_enabled(false);
    ASSERT_TRUE(session.kernel.kprobes.add(found.address, true));
    session.disturbed(found.address);
    session.set_enabled(true);
    EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_ARMED);
    EXPECT_EQ(session.query(*probe).reason, DJPROBE_REASON_SHARED_KPROBE);
    ASSERT_TRUE(session.kernel.kprobes.remove(found.address));
    session.check();
    // Its own again when it comes anew.
    session.disable({probe});
    session.settle();
    EXPECT_EQ(session.enable({probe}).reason, 0u);
    session.settle();
    EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
    session.finish();
}

TEST(Kprobe, ASiteTakesPartInAKprobeThatWasThereFirst) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 0);
    for (const bool armed : {false, true}) {
        Session session(found.seed);
        Kprobes& kprobes = session.kernel.kprobes;
        ASSERT_TRUE(kprobes.add(found.address, armed));
        session.disturbed(found.address);
        // The session sees that each of them is hit, whatever the kprobe's user does.
        Probe* first = session.attach_one({.address = found.address});
        ASSERT_TRUE(first);
        EXPECT_EQ(session.query(*first).reason, DJPROBE_REASON_SHARED_KPROBE);
        ASSERT_TRUE(session.attach_one({.address = found.address, .int3_only = true}));
        session.settle();
        armed ? kprobes.disarm(found.address) : kprobes.arm(found.address);
        session.check();
        kprobes.optimize(found.address);
        session.check();
        // There is one way on from the kernel's kprobe.
        for (const unsigned int wants : {DJK_WANTS_AFTER, DJK_WANTS_REDIRECT})
            EXPECT_EQ(session.attach({{.address = found.address, .wants = wants}}).reason,
                      kForeign);
        session.detach({first});
        session.settle();
        ASSERT_TRUE(kprobes.remove(found.address));
        session.check();
        session.finish();
    }
}

/// The kernel skips so many hits at the kprobe.
void skip(Session& session, u64 address, unsigned int hits) {
    for (djk_seat* seat : session.kernel.kprobes.find(address)->seats)
        seat->missed += hits;
}

TEST(Kprobe, AProbeCountsWhatIsSkippedThereWhileItIsLinked) {
    for (const bool in_module : {false, true}) {
        const Found found = find_image(in_module, DJPROBE_TACTIC_WINDOW, 0);
        Session session(found.seed);
        const auto missed = [&](const Probe* probe) {
            return session.query(*probe).missed[DJPROBE_MISS_RECURSION];
        };
        ASSERT_TRUE(session.kernel.kprobes.add(found.address, true));
        session.disturbed(found.address);
        const Probe* const first = session.attach_one({.address = found.address});
        skip(session, found.address, 5);
        const Probe* const second = session.attach_one({.address = found.address});
        EXPECT_EQ(missed(first), 5u);
        EXPECT_EQ(missed(second), 0u);
        skip(session, found.address, 2);
        EXPECT_EQ(missed(first), 7u);
        EXPECT_EQ(missed(second), 2u);
        // With a new kprobe of our own there nothing begins anew, and nothing is lost.
        session.set_enabled(false);
        EXPECT_EQ(missed(first), 7u);
        session.set_enabled(true);
        skip(session, found.address, 1);
        EXPECT_EQ(missed(first), 8u);
        EXPECT_EQ(missed(second), 3u);
        if (in_module) {
            session.kernel.module_goes();
            session.module_leaves();
            EXPECT_EQ(missed(first), 8u);
            EXPECT_EQ(missed(second), 3u);
        } else {
            ASSERT_TRUE(session.kernel.kprobes.remove(found.address));
        }
        session.finish();
    }
}

TEST(Kprobe, ASiteThatCannotTakePartLeavesEverythingAsItWas) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 0);
    Session session(found.seed);
    ASSERT_TRUE(session.kernel.kprobes.add(found.address, true));
    session.disturbed(found.address);
    unsigned int reason = DJPROBE_REASON_NO_MEMORY;
    int refused = 0;
    for (int n = 0; reason; ++n) {
        session.kernel.fail_after = n;
        const Session::Answer answer = session.attach({{.address = found.address}});
        reason = answer.reason;
        refused += reason != 0;
        if (!answer.probes.empty()) session.detach({answer.probes[0]});
    }
    session.kernel.fail_after = -1;
    EXPECT_GT(refused, 2);
    session.finish();
}

TEST(Kprobe, ADisabledKprobeRightBeforeASiteIsNoObstacleAndGetsNoJumpWhileWeAreThere) {
    int seen = 0;
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
        for (u64 theirs = site - 1; theirs > site - x86::kJumpLength; --theirs) {
            Session session(seed);
            Kprobes& kprobes = session.kernel.kprobes;
            if (!session.kernel.image.place_at(theirs) || !kprobes.add(theirs, false)) continue;
            if (!kprobes.find(theirs)->optimizable) continue;
            session.disturbed(theirs);
            Probe* probe = session.attach_one({.address = site});
            if (!probe) continue;
            session.settle();
            EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
            kprobes.arm(theirs);
            EXPECT_FALSE(kprobes.optimize(theirs));
            session.check();
            session.detach({probe});
            EXPECT_TRUE(kprobes.optimize(theirs));
            session.finish();
            ++seen;
        }
        return seen > 3;
    });
    EXPECT_GT(seen, 0);
}

TEST(Kprobe, AJumpComesOnceAKprobeHasLeftItsRegion) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 1);
    Session session(found.seed);
    Kprobes& kprobes = session.kernel.kprobes;
    Probe* probe = session.attach_one({.address = found.address});
    ASSERT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZING);
    ASSERT_TRUE(kprobes.add(found.inside[0], true));
    session.disturbed(found.address);
    session.settle();
    EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_ARMED);
    EXPECT_EQ(session.query(*probe).reason, DJPROBE_REASON_TEXT_CHANGED);
    ASSERT_TRUE(kprobes.remove(found.inside[0]));
    EXPECT_TRUE(session.kernel.kicked_later);
    session.settle();
    EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
    session.finish();
}

TEST(Kprobe, WhatLiesBehindAnInt3DoesNotKeepAnInt3ProbeFromItsSite) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 1);
    Session session(found.seed);
    Probe* first = session.attach_one({.address = found.address});
    ASSERT_EQ(state_of(session, *first), DJPROBE_STATE_OPTIMIZING);
    ASSERT_TRUE(session.kernel.kprobes.add(found.inside[0], true));
    session.disturbed(found.address);
    Probe* second = session.attach_one({.address = found.address, .int3_only = true});
    ASSERT_TRUE(second);
    EXPECT_EQ(state_of(session, *second), DJPROBE_STATE_ARMED);
    session.detach({first, second});
    EXPECT_EQ(session.kernel.kept, 0) << "the int3 was left for later";
    session.finish();
}

TEST(Kprobe, AnInt3ProbeThatIsRefusedHoldsNoJump) {
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
        Session session(seed);
        Probe* probe = session.attach_one({.address = site});
        session.settle();
        EXPECT_TRUE(session.kernel.kprobes.add(site, true));
        session.disturbed(site);
        EXPECT_EQ(session.attach(std::vector<Wish>{{.address = site, .int3_only = true}}).reason,
                  kForeign);
        session.kernel.kprobes.remove(site);
        session.set_optimization(false);
        session.set_optimization(true);
        session.settle();
        EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
        session.finish();
        return true;
    });
}

}  // namespace
}  // namespace djprobe::model
