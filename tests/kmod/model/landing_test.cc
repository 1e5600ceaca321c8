// SPDX-License-Identifier: GPL-2.0
// Where other code leads: no jump may cover that, even where a patch hides the branch or the
// address.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "arch/x86/analysis/plan.h"
#include "sites.h"

namespace djprobe::model {
namespace {

TEST(Landing, AShortBranchOfAnotherFunctionIsSeenAsFarAsItReaches) {
    i64 nearest = 0, farthest = 0;
    for (u64 seed = 0; seed < 8; ++seed) {
        Session session(seed);
        TextImage& image = session.kernel.image;
        const size_t count = image.places.size();
        for (size_t i = 0; i + 1 < count; ++i) {
            const Place &site = image.places[i], &inside = image.places[i + 1];
            if (inside.start() != site.end() || !covers(session, site.start(), inside.start()))
                continue;
            for (const Place& from : image.places) {
                const i64 distance = static_cast<i64>(inside.start() - from.end());
                if (from.insn.length != 2 || from.insn.kind != x86::Kind::Plain) continue;
                if (from.function == site.function || distance < -128 || distance > 127) continue;
                // The farthest ones are what a bound may be wrong about.
                if (distance > -126 && distance < 125) continue;
                const u8 branch[] = {0x74, static_cast<u8>(distance)};
                memcpy(image.text(from.start()), branch, 2);
                EXPECT_FALSE(covers(session, site.start(), inside.start()))
                    << "image " << seed << ": " << std::hex << from.start() << " leads to "
                    << inside.start() << ", over which " << site.start() << " would jump";
                memcpy(image.text(from.start()), image.original(from.start()), 2);
                nearest = std::min(nearest, distance);
                farthest = std::max(farthest, distance);
            }
        }
    }
    EXPECT_EQ(nearest, -128);
    EXPECT_EQ(farthest, 127);
}

TEST(Landing, WithoutAllFactsThereIsNoJump) {
    int tried = 0;
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
        const auto expect = [&](Session& session, unsigned int verdict, unsigned int wanted,
                                const char* what) {
            unsigned int reason = 0;
            EXPECT_EQ(session.explain(site, &reason).verdict, verdict) << what;
            EXPECT_EQ(reason, wanted) << what;
        };
        constexpr unsigned int kNoIndex = DJPROBE_REASON_NO_INDEX;
        {
            Session session(seed);
            session.kernel.more_kprobes = 5000;
            expect(session, DJPROBE_VERDICT_INT3, kNoIndex, "too many kprobes");
            session.kernel.more_kprobes = 0;
            expect(session, DJPROBE_VERDICT_JUMP, 0, "no kprobe");
        }
        Session session(seed);
        TextImage& image = session.kernel.image;
        const Function& own = *image.function_at(site);
        const Function* const behind = image.function_at(own.start + own.size);
        if (!behind || behind->start > site + 100) return false;
        session.kernel.unreadable = {behind->start, behind->start + behind->size};
        expect(session, DJPROBE_VERDICT_INT3, DJPROBE_REASON_UNSCANNABLE, "its neighbour");
        session.kernel.unreadable = {};
        expect(session, DJPROBE_VERDICT_JUMP, 0, "all");
        return ++tried == 3;
    });
    EXPECT_EQ(tried, 3);
}

TEST(Landing, MoreArrivalsThanTheFirstPassHasRoomForAreAllKnown) {
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
        {
            Session session(seed);
            if (!covers(session, site, session.kernel.image.place_of(site)->end())) return false;
        }
        for (const bool leads : {false, true}) {
            Session session(seed);
            TextImage& image = session.kernel.image;
            const u64 begin = image.core().begin, inside = image.place_of(site)->end();
            image.stated.insert(image.stated.end(), TextImage::kCoreSize / 16,
                                {Reason::FIXUP_INTO_REGION, 0, begin});
            if (leads) image.stated.push_back({Reason::FIXUP_INTO_REGION, 0, inside});
            EXPECT_EQ(covers(session, site, inside), !leads);
        }
        return true;
    });
}

TEST(Landing, WhatAKprobeMayHideInCodeThatCannotBeDecodedMayLeadAnywhere) {
    int tried = 0;
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
        for (const bool unreadable : {false, true}) {
            Session session(seed);
            TextImage& image = session.kernel.image;
            const Function* far = nullptr;
            for (const Function& function : image.functions)
                if (!function.in_module && !function.blacklisted && function.place_count > 4 &&
                    (function.start > site + 1000 || function.start + 1000 < site) &&
                    session.kernel.kprobes.add(function.entry, true)) {
                    far = &function;
                    break;
                }
            if (!far) return false;
            const u64 last = image.places[far->first_place + far->place_count - 1].start();
            const u8 was = *image.text(last);
            if (unreadable)
                session.kernel.unreadable = {last, last + 1};
            else
                *image.text(last) = 0x06;
            unsigned int reason = 0;
            EXPECT_EQ(session.explain(site, &reason).verdict, DJPROBE_VERDICT_INT3);
            EXPECT_EQ(reason, static_cast<unsigned>(DJPROBE_REASON_NO_INDEX));
            *image.text(last) = was;
            session.kernel.unreadable = {};
            session.kernel.kprobes.remove(far->entry);
            EXPECT_EQ(session.explain(site).verdict, DJPROBE_VERDICT_JUMP);
            session.finish();
        }
        return ++tried == 3;
    });
    EXPECT_EQ(tried, 3);
}

/// How often the first verdict on `site` reads `function` while it has so many kprobes.
unsigned int reads_with_kprobes(u64 seed, u64 site, size_t function, size_t kprobes) {
    Session session(seed);
    const TextImage& image = session.kernel.image;
    const Function& read = image.functions[function];
    for (size_t i = 0; i < read.place_count && kprobes > 0; ++i)
        kprobes -= session.kernel.kprobes.add(image.places[read.first_place + i].start(), true);
    if (kprobes > 0) return 0;
    session.kernel.reads.clear();
    (void)session.explain(site);
    return session.kernel.reads[read.start];
}

TEST(Landing, AFunctionWithManyKprobesIsReadAsOftenAsWithOne) {
    int tried = 0;
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
        const std::vector<Function> functions = Session(seed).kernel.image.functions;
        for (size_t i = 0; i < functions.size(); ++i) {
            const Function& far = functions[i];
            if (far.in_module || far.blacklisted) continue;
            if (far.start < site + 1000 && far.start + 1000 > site) continue;
            const unsigned int many = reads_with_kprobes(seed, site, i, 4);
            if (many == 0) continue;
            EXPECT_EQ(many, reads_with_kprobes(seed, site, i, 1)) << "function " << i;
            ++tried;
        }
        return tried > 10;
    });
    EXPECT_GT(tried, 10);
}

TEST(Landing, WhatOurOwnDetoursHaveDisplacedStillLeads) {
    int displaced[2][2] = {};
    for (u64 seed = 0; seed < 24; ++seed) {
        std::vector<x86::Insn> leading;
        u64 core = 0;
        {
            Session look(seed);
            const TextImage& image = look.kernel.image;
            core = image.functions[1].entry;
            for (const Place& place : image.places) {
                const u64 target = place.insn.rel_size == 4 ? place.insn.target : place.insn.taken;
                if (!target || !image.holds(target)) continue;
                // The neighbours are looked at in any case.
                const Function& own = image.functions[place.function];
                const u64 reach = x86::kShortReach + x86::kMaxInsnLength;
                if (target + reach < own.start || target > own.start + own.size + reach)
                    leading.push_back(place.insn);
            }
        }
        for (const x86::Insn& insn : leading)
            for (const bool early : {false, true}) {
                Session session(seed);
                const u64 target = insn.rel_size ? insn.target : insn.taken;
                if (early) (void)session.explain(core);  // the index is built
                Probe* probe = session.attach_one({.address = insn.address});
                if (!probe) continue;
                session.settle();
                if (state_of(session, *probe) == DJPROBE_STATE_OPTIMIZED) {
                    ++displaced[session.kernel.image.module().contains(insn.address)][early];
                    expect_no_jump_over(session, target, early ? "later" : "first", seed,
                                        insn.address);
                }
                session.finish();
            }
    }
    for (const auto& where : displaced)
        for (const int count : where)
            EXPECT_GT(count, 5);
}

TEST(Landing, ABranchOfAModuleThatOurOwnDetourHasDisplacedStillLeads) {
    int tried = 0;
    for (u64 seed = 0; seed < 16; ++seed) {
        std::vector<std::pair<u64, u64>>
            pairs;  // an instruction as long as a jump, and far a place
        {
            Session look(seed);
            TextImage& image = look.kernel.image;
            for (const Place& from : image.places) {
                if (!image.module().contains(from.start()) || *image.text(from.start()) != 0xb8)
                    continue;
                for (size_t i = 0; i + 1 < image.places.size(); ++i) {
                    const Place &site = image.places[i], &inside = image.places[i + 1];
                    if (!image.module().contains(site.start()) || inside.start() != site.end() ||
                        inside.start() < from.end() + 400)
                        continue;
                    if (!covers(look, site.start(), inside.start())) continue;
                    pairs.push_back({from.start(), inside.start()});
                    break;
                }
            }
        }
        for (const auto& [from, to] : pairs) {
            Session session(seed);
            TextImage& image = session.kernel.image;
            const i32 distance = static_cast<i32>(to - (from + 5));
            for (u8* text : {image.text(from), const_cast<u8*>(image.original(from))}) {
                text[0] = 0xe9;
                memcpy(text + 1, &distance, 4);
            }
            Place& place = *image.place_at(from);
            ASSERT_TRUE(x86::decode({image.text(from), 5}, from, place.insn));
            image.place_at(to)->external = true;
            if (Place* next = image.place_at(place.end())) next->external = true;
            Probe* probe = session.attach_one({.address = from});
            if (!probe) continue;
            session.settle();
            if (state_of(session, *probe) == DJPROBE_STATE_OPTIMIZED) {
                ++tried;
                expect_no_jump_over(session, to, "displaced", seed, from);
            }
            session.finish();
        }
    }
    EXPECT_GT(tried, 3);
}

TEST(Landing, AnAddressThatAnEarlierKprobesJumpHidesIsStillTaken) {
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
            expect_no_jump_over(session, insn.taken, "an earlier kprobe", seed, insn.address);
            ASSERT_TRUE(kernel.kprobes.remove(insn.address));
            session.finish();
        }
    }
    EXPECT_GT(hidden[false], 10);
    EXPECT_GT(hidden[true], 10);
}

TEST(Landing, AnAddressOfWhichALaterKprobesJumpHidesAPartIsStillTaken) {
    int hidden = 0;
    for (u64 seed = 0; seed < 12; ++seed) {
        std::vector<x86::Insn> taking;
        u64 core = 0;
        {
            Session look(seed);
            core = look.kernel.image.functions[1].entry;
            for (const Place& place : look.kernel.image.places)
                if (place.insn.taken) taking.push_back(place.insn);
        }
        for (const x86::Insn& insn : taking)
            for (u64 at = insn.address - 4; at <= insn.address; ++at) {
                Session session(seed);
                Kernel& kernel = session.kernel;
                if (!kernel.image.place_at(at)) continue;
                (void)session.explain(core);  // the index is built
                if (!kernel.kprobes.add(at, true)) continue;
                if (kernel.kprobes.optimize(at)) {
                    ++hidden;
                    expect_no_jump_over(session, insn.taken, "a later kprobe", seed, insn.address);
                }
                kernel.kprobes.remove(at);
                session.finish();
            }
    }
    EXPECT_GT(hidden, 30);
}

}  // namespace
}  // namespace djprobe::model
