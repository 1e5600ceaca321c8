// SPDX-License-Identifier: GPL-2.0
// What is a site, and what its handlers get.
#include <gtest/gtest.h>

#include <vector>

#include "arch/x86/analysis/plan.h"
#include "sites.h"

namespace djprobe::model {
namespace {

TEST(Site, TheFirstByteBehindASymbolIsPastItsEnd) {
    Session session(1);
    const Function& function = session.kernel.image.functions[2];
    djp_verdict verdict = {};
    djp_request request = {};
    request.symbol = function.name.c_str();
    request.offset = function.size;
    EXPECT_FALSE(djp_explain(&request, &verdict));
    EXPECT_EQ(request.reason, static_cast<unsigned>(DJPROBE_REASON_PAST_END));
}

// Functions of one name are told apart so.
TEST(Site, AnOffsetFromTheKernelsFirstByteReachesAnyOfItsFunctions) {
    Session session(1);
    const TextImage& image = session.kernel.image;
    const Range text = image.core();
    const Function* const first = image.function_at(text.begin);
    ASSERT_TRUE(first && first->start == text.begin);
    const Place* far = &image.places.back();
    while (!text.contains(far->start()) ||
           session.explain(far->start()).verdict == DJPROBE_VERDICT_REFUSED)
        --far;
    const auto explain = [&](const char* symbol, u64 offset) {
        djp_verdict verdict = {};
        djp_request request = {};
        request.symbol = symbol;
        request.offset = offset;
        if (djp_explain(&request, &verdict)) {
            EXPECT_EQ(request.address, text.begin + offset);
            EXPECT_EQ(verdict.verdict, session.explain(far->start()).verdict);
        }
        return request.reason;
    };
    ASSERT_GE(far->start(), first->start + first->size);
    EXPECT_EQ(explain("_text", far->start() - text.begin), 0u);
    const auto past_end = static_cast<unsigned>(DJPROBE_REASON_PAST_END);
    EXPECT_EQ(explain("_text", text.size()), past_end);
    EXPECT_EQ(explain("_text", ~u64{0}), past_end);
    // The function that begins there is one like any other.
    EXPECT_EQ(explain(first->name.c_str(), far->start() - text.begin), past_end);
}

TEST(Site, CodeWithoutASymbolIsNoText) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 0);
    Session session(found.seed);
    TextImage& image = session.kernel.image;
    const auto owner = const_cast<Function*>(image.function_at(found.address));
    owner->nameless = true;
    unsigned int reason = 0;
    EXPECT_EQ(session.explain(found.address, &reason).verdict, DJPROBE_VERDICT_REFUSED);
    EXPECT_EQ(reason, static_cast<unsigned>(DJPROBE_REASON_NOT_TEXT));
    owner->nameless = false;
    EXPECT_TRUE(session.attach_one({.address = found.address}));
    session.finish();
}

TEST(Site, APlaceThatIsNoneIsRefusedAlsoWhileAllProbesAreDisabled) {
    Session session(1);
    const Place* longer = &session.kernel.image.places.front();
    while (longer->end() - longer->start() < 2 ||
           session.explain(longer->start()).verdict == DJPROBE_VERDICT_REFUSED)
        ++longer;
    const u64 inside = longer->start() + 1;
    session.set_enabled(false);
    for (const bool disabled : {false, true}) {
        Handler* const handler = session.kernel.make_handler(-1, 0);
        ASSERT_TRUE(handler);
        djp_request request = {};
        request.address = inside;
        request.source = source_of(*handler);
        request.disabled = disabled;
        djp_attachment attachment = {};
        attachment.requests = &request;
        attachment.count = 1;
        EXPECT_FALSE(djp_attach(&attachment));
        EXPECT_EQ(request.reason, static_cast<unsigned>(DJPROBE_REASON_NOT_BOUNDARY));
        EXPECT_TRUE(handler->destroyed);
    }
    session.finish();
}

TEST(Site, TheTrapPathIsRefused) {
    Session session(1);
    const u64 root = session.kernel.image.functions[0].start;
    EXPECT_EQ(session.attach(std::vector<Wish>{{.address = root}}).reason,
              static_cast<unsigned>(DJPROBE_REASON_TRAP_PATH));
}

// One line in the log names it: code that must not be probed is not known in such a kernel.
TEST(Site, AKernelThatLacksANameWhichItMustHaveIsRefused) {
    for (const char* name : {"start_secondary", "secondary_startup_64", "notify_die", "sched_clock",
                             "cpuhp_report_idle_dead", "function_trace_call"}) {
        Kernel kernel(1);
        kernel.lacks = name;
        EXPECT_EQ(djp_start(), static_cast<int>(DJPROBE_REASON_NO_SUCH_SYMBOL));
        EXPECT_EQ(kernel.told, name);
        EXPECT_EQ(kernel.watch.count_allocations(), (std::pair<size_t, size_t>()));
    }
}

TEST(Site, AKernelMayLackWhatBelongsToAFeatureThatItLacks) {
    for (const char* name : {"hibernate", "rcu_cpu_starting", "rcutree_report_cpu_starting",
                             "xen_pv_play_dead", "kvm_sched_clock_read"}) {
        Kernel kernel(1);
        kernel.lacks = name;
        EXPECT_EQ(djp_start(), 0) << kernel.told;
        EXPECT_FALSE(kernel.fragile.empty());
        djp_stop();
        EXPECT_TRUE(kernel.fragile.empty());
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

TEST(Site, APadThroughWhichCallsComeIsJudgedAsItsFunction) {
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

TEST(Site, AtTheBeginningOfTheTextThereAreOtherTactics) {
    int seen = 0;
    for (u64 seed = 0; seed < 32; ++seed) {
        Session session(seed);
        for (const Range text : {session.kernel.image.core(), session.kernel.image.module()})
            for (u64 at = text.begin; at < text.begin + x86::kTacticReach; ++at)
                if (session.kernel.image.place_at(at)) {
                    const djp_verdict verdict = session.explain(at);
                    seen += verdict.verdict == DJPROBE_VERDICT_JUMP &&
                            verdict.tactic != DJPROBE_TACTIC_WINDOW;
                }
    }
    EXPECT_GT(seen, 3);
}

TEST(Site, AProgramThatWantsToRedirectIsNotCalledDirectly) {
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
        Session session(seed);
        session.attach_one({.address = site, .program = 0, .wants = DJK_WANTS_REDIRECT});
        session.settle();
        session.finish();
        return true;
    });
}

TEST(Site, TogetherHandlersGetAllThatEachOfThemWants) {
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
        Session session(seed);
        const Place* place = session.kernel.image.place_at(site);
        if (place->insn.kind != x86::Kind::Plain) return false;
        session.attach_one({.address = site});
        session.attach({{.address = site, .wants = DJK_WANTS_REDIRECT},
                        {.address = site, .wants = DJK_WANTS_AFTER},
                        {.address = site}});
        // The watch compares what they want with the code.
        session.settle();
        session.finish();
        return true;
    });
}

}  // namespace
}  // namespace djprobe::model
