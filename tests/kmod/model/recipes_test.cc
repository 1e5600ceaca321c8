// SPDX-License-Identifier: GPL-2.0
// Histories that must end well, each written down.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "arch/x86/plan.h"
#include "session.h"
#include "uapi/djprobe.h"

namespace djprobe::model {
namespace {

unsigned int state_of(Session& session, const Probe& probe) {
    return session.query(probe).state;
}

/// A core function's place where the policy gives a jump by `tactic` over at least so many bytes,
/// with places behind it that are sites, too.
struct Found {
    u64 seed = 0, address = 0;
    std::vector<u64> inside;
};

bool find_site(Session& session, bool in_module, unsigned int tactic, size_t inside, Found& found) {
    const Kernel& kernel = session.kernel;
    for (const Place& place : kernel.image.places) {
        const Function& function = kernel.image.functions[place.function];
        // Its first byte stands for another place.
        if (function.in_module != in_module || place.start() == function.start) continue;
        const djp_verdict verdict = session.explain(place.start());
        if (verdict.verdict != DJPROBE_VERDICT_JUMP || verdict.tactic != tactic) continue;
        found.address = place.start();
        found.inside.clear();
        for (u64 at = place.end(); at < verdict.anchor + verdict.region_len; ++at) {
            const Place* next = session.kernel.image.place_at(at);
            if (next && at > place.start() &&
                session.explain(at).verdict != DJPROBE_VERDICT_REFUSED)
                found.inside.push_back(at);
        }
        if (found.inside.size() >= inside) return true;
    }
    return false;
}

/// The first image that has such a place.
Found find_image(bool in_module, unsigned int tactic, size_t inside) {
    for (u64 seed = 0; seed < 64; ++seed) {
        Session session(seed);
        Found found;
        if (!find_site(session, in_module, tactic, inside, found)) continue;
        found.seed = seed;
        return found;
    }
    ADD_FAILURE() << "no image has a site for tactic " << tactic;
    return {};
}

TEST(Recipes, OverlappingProbesInAllOrders) {
    // Kernel commit f1c97a1b4ef7: a probe within another's displaced bytes, disabled, its neighbour
    // unregistered, and enabled again: the int3 must come back and stay.
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 1);
    const std::array<u64, 2> places = {found.address, found.inside[0]};
    enum Action { kFirstOff, kFirstOn, kFirstGone, kSecondOff, kSecondOn, kSecondGone };
    std::array<int, 6> order = {0, 1, 2, 3, 4, 5};
    do {
        for (const bool settling : {false, true})
            for (const bool swapped : {false, true}) {
                Session session(found.seed);
                std::array<Probe*, 2> probes{};
                for (const bool second : {swapped, !swapped}) {
                    probes[second] = session.attach_one({.address = places[second]});
                    ASSERT_TRUE(probes[second]);
                    if (settling) session.settle();
                }
                for (const int action : order) {
                    Probe*& probe = probes[action / 3];
                    if (!probe) continue;
                    if (action % 3 == 0) session.disable({probe});
                    if (action % 3 == 1) {
                        EXPECT_EQ(session.enable({probe}).reason, 0u);
                    }
                    if (action % 3 == 2) {
                        session.detach({probe});
                        probe = nullptr;
                    }
                    if (settling) session.settle();
                }
                session.finish();
            }
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Recipes, AJumpGivesWayAndComesBack) {
    for (const unsigned int tactic : {DJPROBE_TACTIC_WINDOW, DJPROBE_TACTIC_SLIDE}) {
        const Found found = find_image(false, tactic, tactic == DJPROBE_TACTIC_WINDOW);
        Session session(found.seed);
        Probe* jump = session.attach_one({.address = found.address, .program = 0});
        session.settle();
        ASSERT_EQ(state_of(session, *jump), DJPROBE_STATE_OPTIMIZED);
        const u64 anchor = session.query(*jump).anchor;
        Probe* within = session.attach_one(
            {.address = tactic == DJPROBE_TACTIC_SLIDE ? anchor : found.inside[0], .program = 0});
        ASSERT_TRUE(within);
        if (tactic == DJPROBE_TACTIC_WINDOW) {
            EXPECT_EQ(state_of(session, *jump), DJPROBE_STATE_ARMED);
            EXPECT_EQ(session.query(*jump).reason, DJPROBE_REASON_OVERLAP);
        }
        session.settle();
        session.detach({within});
        session.settle();
        EXPECT_EQ(state_of(session, *jump), DJPROBE_STATE_OPTIMIZED);
        session.finish();
    }
}

/// The first window that a slide from behind would overlap, with neither's IA in the other's
/// region.
bool find_overlap(Session& session, u64& window, u64& slide) {
    for (const Place& place : session.kernel.image.places) {
        slide = place.start();
        const djp_verdict late = session.explain(slide);
        if (late.verdict != DJPROBE_VERDICT_JUMP || late.tactic != DJPROBE_TACTIC_SLIDE) continue;
        for (window = late.anchor - 1; window > late.anchor - x86::kMaxRegion; --window) {
            const Place* first = session.kernel.image.place_at(window);
            if (!first) continue;
            const djp_verdict early = session.explain(window);
            const u64 end = early.anchor + early.region_len;
            if (early.verdict == DJPROBE_VERDICT_JUMP && early.tactic == DJPROBE_TACTIC_WINDOW &&
                end > late.anchor && end <= slide)
                return true;
        }
    }
    return false;
}

TEST(Recipes, WhoWaitsForAJumpToGoGetsItsOwn) {
    size_t seen = 0;
    for (u64 seed = 0; seed < 32; ++seed) {
        Session session(seed);
        u64 window = 0, slide = 0;
        if (!find_overlap(session, window, slide)) continue;
        session.attach_one({.address = slide, .program = 0});
        Probe* waiting = session.attach_one({.address = window, .program = 0});
        session.settle();
        // Another slide than the one found may have given way already.
        const bool waits = session.query(*waiting).reason == DJPROBE_REASON_OVERLAP;
        session.attach_one({.address = slide, .int3_only = true, .program = 0});
        session.settle();
        // The session itself knows who may still be held.
        seen += waits && state_of(session, *waiting) == DJPROBE_STATE_OPTIMIZED;
        session.finish();
    }
    EXPECT_GT(seen, 3u);
}

TEST(Recipes, AnOptimizationIsCancelledAndWantedAgain) {
    // Kernel commit e4add247789e: cancelling took a site that waited for its jump for one that
    // waited for its end, and the reverse.
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 0);
    for (const bool optimized : {false, true}) {
        Session session(found.seed);
        Probe* const probe = session.attach_one({.address = found.address});
        if (optimized) session.settle();
        for (int i = 0; i < 3; ++i) {
            session.set_optimization(false);
            EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_ARMED);
            EXPECT_EQ(session.query(*probe).reason, DJPROBE_REASON_OPTIMIZATION_OFF);
            session.set_optimization(true);
            EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZING);
        }
        // While the worker waits: it must not write what is not wanted any more.
        session.kernel.on_quiesce = [&](bool locked) {
            if (!locked && session.is_optimizing()) session.set_optimization(false);
        };
        session.settle();
        EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_ARMED);
        session.kernel.on_quiesce = {};
        session.set_optimization(true);
        session.settle();
        EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
        session.finish();
    }
}

TEST(Recipes, APlanIsMadeOfOriginalBytesWhateverStateANeighbourIsIn) {
    // Kernel commit 868a6fc0ca24: the jump of a neighbour that was queued, but still in the text,
    // was taken for its original bytes.
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 1);
    Session session(found.seed);
    const djp_verdict alone = session.explain(found.inside[0]);
    const auto expect_same = [&](const char* when) {
        const djp_verdict now = session.explain(found.inside[0]);
        EXPECT_EQ(now.verdict, alone.verdict) << when;
        EXPECT_EQ(now.region_len, alone.region_len) << when;
        EXPECT_TRUE(std::ranges::equal(now.region, alone.region)) << when;
    };
    Probe* const probe = session.attach_one({.address = found.address});
    session.kernel.on_quiesce = [&](bool locked) {
        if (!locked) expect_same("in the quiescence");
    };
    expect_same("before the jump");
    session.settle();
    ASSERT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
    expect_same("with the jump");
    session.set_optimization(false);
    expect_same("without the jump");
    session.set_optimization(true);
    expect_same("wanted again");
    session.settle();
    session.detach({probe});
    expect_same("detached");
    session.settle();
    expect_same("freed");
    session.finish();
}

/// What may fail for want of memory.
enum class Victim { Attach, Join, Batch, Enable, Detach, Disable, SetEnabled };

/// Let the n-th allocation of it fail (or all from it on). Returns false when there are fewer.
bool fail_once(const Found& found, Victim victim, int n, bool keep_failing) {
    Session session(found.seed);
    // The index is built, and another site shares the slots.
    Probe* const other = session.attach_one({.address = found.address, .program = 0});
    std::vector<Wish> wishes = {{.address = found.inside[0], .program = 1},
                                {.address = found.address, .program = 2},
                                {.address = found.inside[1], .wants = DJK_WANTS_REDIRECT}};
    Group group;
    if (victim != Victim::Attach && victim != Victim::Join && victim != Victim::Batch)
        group = session.attach(wishes).probes;
    if (victim == Victim::Enable) session.disable(group);
    session.settle();
    const size_t before = session.kernel.watch.count_allocations().first;
    const size_t handlers = session.kernel.handlers;
    const unsigned int state = state_of(session, *other);
    session.kernel.fail_after = n;
    session.kernel.keep_failing = keep_failing;
    unsigned int reason = 0;
    switch (victim) {
        case Victim::Attach:
            reason = session.attach(std::vector<Wish>{wishes[0]}).reason;
            break;
        case Victim::Join:
            reason = session.attach(std::vector<Wish>{wishes[1]}).reason;
            break;
        case Victim::Batch:
            reason = session.attach(wishes).reason;
            break;
        case Victim::Enable:
            reason = session.enable(group).reason;
            break;
        case Victim::Detach:
            session.detach(group);
            break;
        case Victim::Disable:
            session.disable(group);
            break;
        case Victim::SetEnabled:
            session.set_enabled(false);
            break;
    }
    const bool failed = session.kernel.failed > 0;
    session.kernel.fail_after = -1;
    session.settle();
    if (reason) {
        EXPECT_EQ(reason, static_cast<unsigned int>(DJPROBE_REASON_NO_MEMORY));
        // All undone: the other site has its jump again, nothing else is there.
        EXPECT_EQ(state_of(session, *other), state);
        EXPECT_EQ(session.kernel.handlers, handlers);
        EXPECT_EQ(session.kernel.watch.count_allocations().first, before);
    }
    session.set_enabled(true);
    session.finish();
    return failed;
}

class OutOfMemory : public testing::TestWithParam<Victim> {};

TEST_P(OutOfMemory, AtEveryAllocationAllIsUndone) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 2);
    for (const bool keep_failing : {false, true}) {
        int n = 0;
        while (fail_once(found, GetParam(), n, keep_failing))
            ++n;
        const bool allocates = GetParam() == Victim::Attach || GetParam() == Victim::Join ||
                               GetParam() == Victim::Batch || GetParam() == Victim::Enable;
        if (allocates) {
            EXPECT_GT(n, 3);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, OutOfMemory,
                         testing::Values(Victim::Attach, Victim::Join, Victim::Batch,
                                         Victim::Enable, Victim::Detach, Victim::Disable,
                                         Victim::SetEnabled));

/// The trap of an int3 in a detour, if there is one.
const djk_trap* bypass() {
    for (const djk_trap* trap : djp_traps)
        for (; trap; trap = trap->next)
            if (!trap->site) return trap;
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
        EXPECT_EQ(session.enable({probe}).reason,
                  static_cast<unsigned>(DJPROBE_REASON_FOREIGN_PATCH));
    }
    EXPECT_EQ(session.attach(std::vector<Wish>{{.address = found.address}}).reason,
              static_cast<unsigned>(DJPROBE_REASON_FOREIGN_PATCH));
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

TEST(Recipes, JumpsThatCouldNotGoWhenSwitchedOffGoLater) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 0);
    Session session(found.seed);
    Probe* probe = session.attach_one({.address = found.address});
    session.settle();
    ASSERT_TRUE(session.kernel.kprobes.add(found.address, true));
    session.set_optimization(false);
    EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
    ASSERT_TRUE(session.kernel.kprobes.remove(found.address));
    session.settle();
    EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_ARMED);
    EXPECT_EQ(session.query(*probe).reason, DJPROBE_REASON_OPTIMIZATION_OFF);
    session.finish();
}

TEST(Recipes, WhatCouldNotComeBackIsEnabledAgain) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 0);
    Session session(found.seed);
    Probe* probe = session.attach_one({.address = found.address});
    session.set_enabled(false);
    ASSERT_TRUE(session.kernel.kprobes.add(found.address, true));
    session.disturbed(found.address);
    session.set_enabled(true);
    EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_DISARMED);
    EXPECT_EQ(session.enable({probe}).reason, DJPROBE_REASON_FOREIGN_PATCH);
    ASSERT_TRUE(session.kernel.kprobes.remove(found.address));
    EXPECT_EQ(session.enable({probe}).reason, 0u);
    session.settle();
    EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
    session.finish();
}

TEST(Recipes, ASpringboardUnderAKprobeIsTakenBackWhenThatLeaves) {
    // A kprobe can be where the instructions of the padding begin.
    const Found found = find_image(false, DJPROBE_TACTIC_SPRINGBOARD, 0);
    for (const bool armed : {false, true}) {
        Session session(found.seed);
        Kernel& kernel = session.kernel;
        Probe* probe = session.attach_one({.address = found.address});
        session.settle();
        ASSERT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
        const u64 board = session.explain(found.address).board;
        ASSERT_TRUE(kernel.kprobes.add(board, armed));
        session.disturbed(board);
        session.detach({probe});
        session.settle();
        EXPECT_EQ(kernel.kept, 1);
        EXPECT_TRUE(kernel.kicked_later);
        // Its text is neither the kernel's nor anybody's who is there to stay.
        EXPECT_NE(session.attach({{.address = board}}).reason, 0u);
        ASSERT_TRUE(kernel.kprobes.remove(board));
        session.settle();
        EXPECT_EQ(kernel.kept, 0);
        EXPECT_FALSE(kernel.kicked_later);
        EXPECT_EQ(kernel.watch.find_changed(kernel.image.core()), 0u);
        session.finish();
    }
}

TEST(Recipes, AKprobeComesOntoASpringboardRightBeforeTheModuleGoes) {
    const Found found = find_image(false, DJPROBE_TACTIC_SPRINGBOARD, 0);
    Session session(found.seed);
    Kernel& kernel = session.kernel;
    Probe* probe = session.attach_one({.address = found.address});
    session.settle();
    const u64 board = session.explain(found.address).board;
    session.detach({probe});
    ASSERT_TRUE(kernel.kprobes.add(board, true));
    session.stop();
    // Nothing of ours is lost, and what stays in the text is told.
    EXPECT_EQ(kernel.kept, 0);
    EXPECT_EQ(kernel.watch.boards_left(), std::set<u64>{board});
    ASSERT_TRUE(kernel.kprobes.remove(board));
    EXPECT_EQ(kernel.watch.find_changed(kernel.image.core()), 0u);
}

TEST(Recipes, AModuleGoesWhileItsSpringboardWaitsForQuiescence) {
    const Found found = find_image(true, DJPROBE_TACTIC_SPRINGBOARD, 0);
    for (const bool within : {false, true}) {
        Session session(found.seed);
        Probe* probe = session.attach_one({.address = found.address});
        session.settle();
        ASSERT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
        session.detach({probe});
        const auto leave = [&] {
            session.kernel.module_goes();
            session.module_leaves();
        };
        if (!within) leave();
        session.kernel.on_quiesce = [&](bool) {
            if (within && session.kernel.module == ModuleState::Live) leave();
        };
        session.settle();
        session.finish();
        // Whatever is loaded there next is not ours.
        session.kernel.module_comes();
        EXPECT_EQ(session.kernel.watch.find_changed(session.kernel.image.module()), 0u);
    }
}

/// An image's site in a function right before one that must not be probed.
const Function* find_pad(Session& session, u64& site) {
    const auto& functions = session.kernel.image.functions;
    for (size_t i = 0; i + 1 < functions.size(); ++i) {
        const Function& next = functions[i + 1];
        if (functions[i].start + functions[i].size != next.start || !next.blacklisted) continue;
        site = functions[i].entry;
        if (session.explain(site).verdict != DJPROBE_VERDICT_REFUSED) return &functions[i];
    }
    return nullptr;
}

TEST(Recipes, APadThroughWhichCallsComeIsJudgedAsItsFunction) {
    for (u64 seed = 0; seed < 64; ++seed) {
        u64 site = 0;
        unsigned int size = 0;
        {
            Session session(seed);
            if (const Function* const pad = find_pad(session, site))
                size = static_cast<unsigned int>(pad->size);
        }
        if (!size) continue;
        pad_size = size;
        {
            Session session(seed);
            EXPECT_EQ(session.attach({{.address = site}}).reason, DJPROBE_REASON_BLACKLISTED);
            session.finish();
        }
        pad_size = 0;
        return;
    }
    FAIL() << "no image has one";
}

/// Whether the jump of a probe at `site` would overwrite `place` and not begin there.
bool covers(Session& session, u64 site, u64 place) {
    const djp_verdict verdict = session.explain(site);
    return verdict.verdict == DJPROBE_VERDICT_JUMP && verdict.anchor < place &&
           place < verdict.anchor + verdict.region_len;
}

TEST(Recipes, WhatWasFoundOutBeforeAModuleWentIsNotUsed) {
    for (const bool in_module : {false, true}) {
        const Found found = find_image(in_module, DJPROBE_TACTIC_WINDOW, 0);
        Session session(found.seed);
        djp_request request = {};
        request.address = found.address;
        Handler* const handler = session.kernel.make_handler(-1, 0);
        request.handler = &handler->link;
        session.kernel.watch.look_at(found.address);
        const auto ignore = [](void*, const unsigned long*, size_t) {};
        // It says no, as that is no function's start; what counts is when it was asked.
        djp_find_returns(&request, ignore, nullptr);
        const djk_extent elsewhere = {1, 2};
        djp_module_gone(&elsewhere);
        djp_probe* probe = nullptr;
        const size_t attached = djp_attach(&request, 1, &probe);
        EXPECT_EQ(attached, in_module ? 0U : 1U);
        if (in_module) {
            EXPECT_EQ(request.reason, static_cast<unsigned>(DJPROBE_REASON_MODULE_LEAVING));
            session.kernel.destroy(*handler);
        } else {
            djp_detach(&probe, 1);
        }
        session.settle();
        session.finish();
    }
}

TEST(Recipes, AnAddressThatAnEarlierKprobesJumpHidesIsStillTaken) {
    int hidden[2] = {};
    for (u64 seed = 0; seed < 16; ++seed) {
        std::vector<x86::Insn> taking;
        {
            Session look(seed);
            for (const Place& place : look.kernel.image.places)
                if (place.insn.taken) taking.push_back(place.insn);
        }
        for (const x86::Insn& insn : taking) {
            Session session(seed);
            Kernel& kernel = session.kernel;
            if (!kernel.kprobes.add(insn.address, true) || !kernel.kprobes.optimize(insn.address))
                continue;
            ++hidden[kernel.image.module().contains(insn.address)];
            // The index is built now.
            for (u64 site = insn.taken - x86::kMaxInsnLength; site < insn.taken; ++site)
                if (kernel.image.place_at(site)) {
                    EXPECT_FALSE(covers(session, site, insn.taken))
                        << "image " << seed << ", " << std::hex << site << " over " << insn.taken;
                }
            ASSERT_TRUE(kernel.kprobes.remove(insn.address));
            session.finish();
        }
    }
    EXPECT_GT(hidden[false], 10);
    EXPECT_GT(hidden[true], 10);
}

TEST(Recipes, NothingIsKeptOfAModuleWhoseKprobesTheIndexSaw) {
    int seen = 0;
    for (u64 seed = 0; seed < 16; ++seed) {
        Session session(seed);
        Kernel& kernel = session.kernel;
        std::vector<u64> kprobes, called;
        for (const Place& place : kernel.image.places) {
            if (!kernel.image.module().contains(place.start()) || place.insn.rel_size != 4)
                continue;
            if (!kernel.image.core().contains(place.insn.target)) continue;
            if (!kernel.kprobes.add(place.start(), true)) continue;
            kprobes.push_back(place.start());
            called.push_back(place.insn.target);
        }
        if (kprobes.empty()) continue;
        ++seen;
        (void)session.explain(called[0]);
        for (const u64 address : kprobes)
            kernel.kprobes.remove(address);
        kernel.module_goes();
        session.module_leaves();
        // Whoever looks at freed text crashes.
        for (const u64 start : called)
            for (u64 site = start - 16; site < start + 16; ++site)
                if (kernel.image.place_at(site)) (void)session.explain(site);
        session.finish();
    }
    EXPECT_GT(seen, 10);
}

TEST(Recipes, ABatchThatIsUndoneGivesJumpsBack) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 1);
    Session session(found.seed);
    Probe* probe = session.attach_one({.address = found.address, .program = 0});
    session.settle();
    const u64 nowhere = session.kernel.image.core().begin - 4096;
    const std::vector<Wish> wishes = {{.address = found.address, .program = 0},
                                      {.address = found.inside[0], .program = 0}};
    // Forbidden places are found first: only one that turns out late shows what is undone.
    for (int n = 0; n < 64; ++n) {
        session.kernel.fail_after = n;
        const Session::Answer answer = session.attach(wishes);
        session.kernel.fail_after = -1;
        session.settle();
        EXPECT_EQ(state_of(session, *probe),
                  answer.reason ? DJPROBE_STATE_OPTIMIZED : DJPROBE_STATE_ARMED);
        if (!answer.reason) session.detach(answer.probes);
        session.settle();
    }
    const Session::Answer answer =
        session.attach({{.address = found.address}, {.address = nowhere}});
    EXPECT_EQ(answer.index, 1u);
    EXPECT_EQ(answer.reason, static_cast<unsigned>(DJPROBE_REASON_NOT_TEXT));
    session.finish();
}

}  // namespace
}  // namespace djprobe::model
