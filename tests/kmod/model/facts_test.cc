// SPDX-License-Identifier: GPL-2.0
// Facts that nobody else would miss: each was found by a mutant that lived.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "arch/x86/plan.h"
#include "failure.h"
#include "session.h"
#include "uapi/djprobe.h"

namespace djprobe::model {
namespace {

constexpr auto kForeign = static_cast<unsigned>(DJPROBE_REASON_FOREIGN_PATCH);

/// Every place with a jump of this tactic, over the first images; use(seed, place, verdict) ->
/// enough.
template <class Use>
void for_each_jump(unsigned int tactic, bool in_module, Use&& use) {
    for (u64 seed = 0; seed < 64; ++seed) {
        std::vector<std::pair<u64, djp_verdict>> sites;
        {
            Session session(seed);
            const TextImage& image = session.kernel.image;
            for (const Place& place : image.places) {
                const Function& function = image.functions[place.function];
                if (function.in_module != in_module || place.start() == function.start) continue;
                const djp_verdict verdict = session.explain(place.start());
                if (verdict.verdict == DJPROBE_VERDICT_JUMP && verdict.tactic == tactic)
                    sites.push_back({place.start(), verdict});
            }
        }
        for (const auto& [address, verdict] : sites)
            if (use(seed, address, verdict)) return;
    }
}

TEST(Facts, NoJumpWhereAKprobeBeforeItMayStillGetIts) {
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

TEST(Facts, WhatChangesBetweenTheAnalysisAndTheInt3IsNotDisplaced) {
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

TEST(Facts, NoSpringboardOverAKprobeThatIsNotInTheText) {
    int seen = 0;
    for_each_jump(DJPROBE_TACTIC_SPRINGBOARD, false, [&](u64 seed, u64 site, djp_verdict verdict) {
        Session session(seed);
        Kernel& kernel = session.kernel;
        // The kernel takes no kprobe on an int3: let the padding be a long nop.
        const u8 nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
        // Nor behind an int3 of ours in the same function.
        if (kernel.image.function_at(verdict.board) == kernel.image.function_at(site)) return false;
        if (kernel.image.place_of(verdict.board - 1) == nullptr) return false;
        memcpy(kernel.image.text(verdict.board), nop, sizeof nop);
        memcpy(const_cast<u8*>(kernel.image.original(verdict.board)), nop, sizeof nop);
        Probe* probe = session.attach_one({.address = site});
        EXPECT_TRUE(probe);
        EXPECT_EQ(session.explain(site).board, verdict.board);
        EXPECT_EQ(session.query(*probe).state, DJPROBE_STATE_OPTIMIZING);
        EXPECT_TRUE(kernel.kprobes.add(verdict.board, false));
        session.disturbed(verdict.board);
        session.settle();
        EXPECT_EQ(session.query(*probe).state, DJPROBE_STATE_ARMED);
        // The model knows whether that would overwrite anything.
        kernel.kprobes.arm(verdict.board);
        kernel.kprobes.remove(verdict.board);
        session.finish();
        return ++seen == 3;
    });
    EXPECT_GT(seen, 0);
}

TEST(Facts, AModuleGoesWhileItsSpringboardIsStuck) {
    int seen = 0;
    for_each_jump(DJPROBE_TACTIC_SPRINGBOARD, true, [&](u64 seed, u64 site, djp_verdict verdict) {
        Session session(seed);
        Kernel& kernel = session.kernel;
        Probe* probe = session.attach_one({.address = site});
        session.settle();
        if (!kernel.kprobes.add(verdict.board, false)) {
            session.finish();
            return false;
        }
        session.disturbed(verdict.board);
        session.detach({probe});
        session.settle();
        EXPECT_EQ(kernel.kept, 1);
        kernel.module_goes();
        // Whoever looks at freed text crashes.
        session.module_leaves();
        session.settle();
        EXPECT_EQ(kernel.kept, 0);
        session.finish();
        return ++seen == 3;
    });
    EXPECT_GT(seen, 0);
}

TEST(Facts, AJumpUnderAKprobeDoesNotMakeWay) {
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

TEST(Facts, AProgramThatWantsToRedirectIsNotCalledDirectly) {
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
        Session session(seed);
        session.attach_one({.address = site, .program = 0, .wants = DJK_WANTS_REDIRECT});
        session.settle();
        session.finish();
        return true;
    });
}

TEST(Facts, TheFirstByteBehindASymbolIsPastItsEnd) {
    Session session(1);
    const Function& function = session.kernel.image.functions[2];
    djp_verdict verdict = {};
    djp_request request = {};
    request.symbol = function.name.c_str();
    request.offset = function.size;
    EXPECT_FALSE(djp_explain(&request, &verdict));
    EXPECT_EQ(request.reason, static_cast<unsigned>(DJPROBE_REASON_PAST_END));
}

TEST(Facts, OurModuleMayGoRightAfterTheLastDetach) {
    for (const unsigned int tactic :
         {DJPROBE_TACTIC_WINDOW, DJPROBE_TACTIC_SLIDE, DJPROBE_TACTIC_SPRINGBOARD})
        for_each_jump(tactic, false, [&](u64 seed, u64 site, const djp_verdict&) {
            Session session(seed);
            Probe* probe = session.attach_one({.address = site, .program = 0});
            session.settle();
            EXPECT_EQ(session.query(*probe).state, DJPROBE_STATE_OPTIMIZED);
            session.detach({probe});
            // No settle(): what is left is djp_stop()'s.
            return true;
        });
}

TEST(Facts, TwoProbesAtASlidesAnchorShareASite) {
    int seen = 0;
    for_each_jump(DJPROBE_TACTIC_SLIDE, false, [&](u64 seed, u64 site, djp_verdict verdict) {
        Session session(seed);
        session.attach_one({.address = site});
        session.settle();
        const auto both =
            session.attach({{.address = verdict.anchor}, {.address = verdict.anchor}});
        if (both.reason == 0) ++seen;
        session.settle();
        session.finish();
        return seen == 3;
    });
    EXPECT_EQ(seen, 3);
}

TEST(Facts, TheTrapPathIsRefused) {
    Session session(1);
    const u64 root = session.kernel.image.functions[0].start;
    EXPECT_EQ(session.attach(std::vector<Wish>{{.address = root}}).reason,
              static_cast<unsigned>(DJPROBE_REASON_TRAP_PATH));
}

TEST(Facts, AtTheBeginningOfTheTextThereAreOtherTactics) {
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

/// Whether the jump of a probe at `site` would overwrite `place` and not begin there.
bool covers(Session& session, u64 site, u64 place) {
    const djp_verdict verdict = session.explain(site);
    return verdict.verdict == DJPROBE_VERDICT_JUMP && verdict.anchor < place &&
           place < verdict.anchor + verdict.region_len;
}

TEST(Facts, AShortBranchOfAnotherFunctionIsSeenAsFarAsItReaches) {
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

TEST(Facts, ASpringboardThatSomebodyElseHasChangedIsLeftAlone) {
    for_each_jump(DJPROBE_TACTIC_SPRINGBOARD, false, [&](u64 seed, u64 site, djp_verdict verdict) {
        Session session(seed);
        Kernel& kernel = session.kernel;
        Probe* probe = session.attach_one({.address = site});
        session.settle();
        session.detach({probe});
        u8& theirs = *kernel.image.text(verdict.board + 2);
        theirs ^= 1;
        const u8 now = theirs;
        session.settle();
        EXPECT_EQ(theirs, now);
        EXPECT_EQ(kernel.kept, 1);
        theirs ^= 1;
        session.settle();
        EXPECT_EQ(kernel.kept, 0);
        session.finish();
        return true;
    });
}

TEST(Facts, AKprobeOnASpringboardThatIsAboutToGoKeepsTheModule) {
    for (const bool late : {false, true})
        for_each_jump(DJPROBE_TACTIC_SPRINGBOARD, false,
                      [&](u64 seed, u64 site, djp_verdict verdict) {
                          Session session(seed);
                          Kernel& kernel = session.kernel;
                          Probe* probe = session.attach_one({.address = site});
                          session.settle();
                          session.disturbed(verdict.board);
                          const auto add = [&] {
                              if (!kernel.kprobes.find(verdict.board)) {
                                  EXPECT_TRUE(kernel.kprobes.add(verdict.board, false));
                              }
                          };
                          if (late)
                              kernel.on_quiesce = [&](bool) { add(); };
                          else
                              add();
                          session.detach({probe});
                          if (!late) {
                              // At once: nobody knows when the worker comes.
                              EXPECT_EQ(kernel.kept, 1);
                          }
                          session.settle();
                          kernel.on_quiesce = {};
                          EXPECT_EQ(kernel.kept, 1);
                          kernel.kprobes.remove(verdict.board);
                          session.settle();
                          EXPECT_EQ(kernel.kept, 0);
                          session.finish();
                          return true;
                      });
}

TEST(Facts, WithoutAllFactsThereIsNoJump) {
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

TEST(Facts, WhatAKprobeMayHideInCodeThatCannotBeDecodedMayLeadAnywhere) {
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

/// Nobody's jump may cover where `insn` leads.
void expect_nobody_over(Session& session, u64 place, const char* when, u64 seed, u64 from) {
    for (u64 site = place - x86::kMaxInsnLength; site < place; ++site)
        if (session.kernel.image.place_at(site)) {
            EXPECT_FALSE(covers(session, site, place))
                << when << ", image " << seed << ": " << std::hex << site << " over " << place
                << ", to which " << from << " leads";
        }
}

TEST(Facts, WhatOurOwnDetoursHaveDisplacedStillLeads) {
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
                if (session.query(*probe).state == DJPROBE_STATE_OPTIMIZED) {
                    ++displaced[session.kernel.image.module().contains(insn.address)][early];
                    expect_nobody_over(session, target, early ? "later" : "first", seed,
                                       insn.address);
                }
                session.finish();
            }
    }
    for (const auto& where : displaced)
        for (const int count : where)
            EXPECT_GT(count, 5);
}

TEST(Facts, AnAddressOfWhichALaterKprobesJumpHidesAPartIsStillTaken) {
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
                    expect_nobody_over(session, insn.taken, "a later kprobe", seed, insn.address);
                }
                kernel.kprobes.remove(at);
                session.finish();
            }
    }
    EXPECT_GT(hidden, 30);
}

TEST(Facts, AnInt3ProbeThatIsRefusedHoldsNobody) {
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
        EXPECT_EQ(session.query(*probe).state, DJPROBE_STATE_OPTIMIZED);
        session.finish();
        return true;
    });
}

TEST(Facts, ABatchThatIsRefusedLeavesNoCodeToBeWrittenLater) {
    const auto [seed, site] = [] {
        std::pair<u64, u64> found{};
        for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
            found = {seed, site};
            return true;
        });
        return found;
    }();
    for (int n = 0;; ++n) {
        Session session(seed);
        session.kernel.fail_after = n;
        const auto answer =
            session.attach({{.address = site, .program = 0}, {.address = site, .program = 1}});
        session.kernel.fail_after = -1;
        session.settle();
        session.attach_one({.address = site});
        session.settle();
        session.finish();
        if (!session.kernel.failed) break;
    }
}

TEST(Facts, TogetherHandlersGetAllThatEachOfThemWants) {
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

TEST(Facts, ASlidesAnchorIsBackInTheTableOnlyWhenNoHitCanStandOnItsLink) {
    for_each_jump(DJPROBE_TACTIC_SLIDE, false, [&](u64 seed, u64 site, const djp_verdict&) {
        Session session(seed);
        session.attach_one({.address = site});
        session.settle();
        // Nobody else synchronizes the cores meanwhile.
        Probe* const int3 = session.attach_one({.address = site, .int3_only = true});
        session.detach({int3});
        session.settle();
        session.finish();
        return true;
    });
}

TEST(Facts, ABranchOfAModuleThatOurOwnDetourHasDisplacedStillLeads) {
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
            if (session.query(*probe).state == DJPROBE_STATE_OPTIMIZED) {
                ++tried;
                expect_nobody_over(session, to, "displaced", seed, from);
            }
            session.finish();
        }
    }
    EXPECT_GT(tried, 3);
}

// Each interrupts all CPUs of a machine in production.
TEST(Facts, OneSiteCostsNoMoreCoreSyncsThanItsBytesNeed) {
    size_t tried = 0;
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
        Session session(seed);
        const auto syncs_since = [&](size_t before) { return session.kernel.syncs - before; };
        Probe* probe = session.attach_one({.address = site});
        EXPECT_NE(probe, nullptr);
        if (!probe) return true;
        EXPECT_EQ(session.kernel.syncs, 2u) << "slots, int3";
        session.settle();
        EXPECT_EQ(session.query(*probe).state, u32{DJPROBE_STATE_OPTIMIZED});
        EXPECT_EQ(syncs_since(2), 2u) << "the jump's tail, its first byte";
        session.detach({probe});
        EXPECT_EQ(syncs_since(4), 3u) << "int3, the tail, the first byte";
        session.finish();
        return ++tried == 3;
    });
    EXPECT_EQ(tried, 3u);
}

}  // namespace
}  // namespace djprobe::model
