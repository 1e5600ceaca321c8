// SPDX-License-Identifier: GPL-2.0
// A module with probes that goes: nothing of its text is looked at or written any more.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "sites.h"

namespace djprobe::model {
namespace {

TEST(Module, AModuleGoesWhileItsSpringboardWaitsForQuiescence) {
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

TEST(Module, AModuleGoesWhileItsSpringboardIsStuck) {
    int seen = 0;
    for_each_jump(DJPROBE_TACTIC_SPRINGBOARD, true, [&](u64 seed, u64 site, djp_verdict verdict) {
        Session session(seed);
        Kernel& kernel = session.kernel;
        const u64 board = pad_with_nop(kernel.image, site, verdict.board);
        if (!board) return false;
        Probe* probe = session.attach_one({.address = site});
        session.settle();
        EXPECT_TRUE(kernel.kprobes.add(board, false));
        session.disturbed(board);
        session.detach({probe});
        session.settle();
        EXPECT_EQ(kernel.kept, 1);
        kernel.module_goes();
        // A read of freed text crashes.
        session.module_leaves();
        session.settle();
        EXPECT_EQ(kernel.kept, 0);
        session.finish();
        return ++seen == 3;
    });
    EXPECT_GT(seen, 0);
}

TEST(Module, WhatWasFoundOutBeforeAModuleWentIsNotUsed) {
    for (const bool in_module : {false, true}) {
        const Found found = find_image(in_module, DJPROBE_TACTIC_WINDOW, 0);
        Session session(found.seed);
        djp_request request = {};
        request.address = found.address;
        Handler* const handler = session.kernel.make_handler(-1, 0);
        request.source = source_of(*handler);
        session.kernel.watch.look_at(found.address);
        // The place has been found by then, and no probe is there yet.
        session.kernel.on_make = [&] {
            const djk_extent text = {found.address, found.address + 1};
            djp_module_gone(&text);
        };
        djp_attachment attachment = {};
        attachment.requests = &request;
        attachment.count = 1;
        EXPECT_EQ(djp_attach(&attachment), !in_module);
        session.kernel.on_make = nullptr;
        if (in_module) {
            EXPECT_EQ(request.reason, static_cast<unsigned>(DJPROBE_REASON_MODULE_LEAVING));
            EXPECT_TRUE(handler->destroyed);
        } else {
            djp_detach(attachment.probes, 1);
            djk_free_large(attachment.probes);
        }
        session.settle();
        session.finish();
    }
}

TEST(Module, AnInt3GoesAlthoughAKprobeLiesInItsRegion) {
    const Found found = find_image(true, DJPROBE_TACTIC_WINDOW, 1);
    Session session(found.seed);
    Kernel& kernel = session.kernel;
    kernel.portion = 1;
    // An older site: the module's has a portion of its own, before that one's.
    const Place* older = &kernel.image.places.front();
    while (session.explain(older->start()).verdict == DJPROBE_VERDICT_REFUSED)
        ++older;
    ASSERT_TRUE(session.attach_one({.address = older->start()}));
    Probe* probe = session.attach_one({.address = found.address});
    ASSERT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZING);
    ASSERT_TRUE(kernel.kprobes.add(found.inside[0], true));
    session.disturbed(found.address);
    // Between two portions, while the kernel may still run the text.
    bool looked = false;
    kernel.on_pause = [&] {
        looked = true;
        EXPECT_EQ(*kernel.image.text(found.address), *kernel.image.original(found.address));
    };
    kernel.module_goes();
    session.module_leaves();
    kernel.on_pause = nullptr;
    EXPECT_TRUE(looked);
    session.finish();
}

TEST(Module, NothingIsKeptOfAModuleWhoseKprobesTheIndexSaw) {
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
        // A read of freed text crashes.
        for (const u64 start : called)
            for (u64 site = start - 16; site < start + 16; ++site)
                if (kernel.image.place_at(site)) (void)session.explain(site);
        session.finish();
    }
    EXPECT_GT(seen, 10);
}

/// A long jump from another function of the module to `target`; false: there is no room for one.
bool write_jump(TextImage& image, u64 target) {
    for (const Place& place : image.places) {
        if (!image.module().contains(place.start()) || place.insn.length < 5) continue;
        if (place.insn.kind != x86::Kind::Plain) continue;
        if (image.function_at(place.start()) == image.function_at(target)) continue;
        const auto distance = static_cast<i32>(target - place.start() - 5);
        u8 jump[x86::kMaxInsnLength] = {0xe9};
        memcpy(jump + 1, &distance, 4);
        memset(jump + 5, 0x90, sizeof(jump) - 5);
        memcpy(image.text(place.start()), jump, place.insn.length);
        return true;
    }
    return false;
}

TEST(Module, WhatIsKnownOfAModulesTextGoesWithIt) {
    const Found found = find_image(true, DJPROBE_TACTIC_WINDOW, 1);
    Session session(found.seed);
    ASSERT_TRUE(covers(session, found.address, found.inside[0]));
    session.kernel.module_goes();
    session.module_leaves();
    session.kernel.module_comes();
    ASSERT_TRUE(write_jump(session.kernel.image, found.inside[0]));
    EXPECT_FALSE(covers(session, found.address, found.inside[0]));
}

}  // namespace
}  // namespace djprobe::model
