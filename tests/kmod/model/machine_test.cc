// SPDX-License-Identifier: GPL-2.0
// What a site may become depends on how this machine makes branches.
#include <gtest/gtest.h>

#include <cstring>

#include "arch/x86/analysis/plan.h"
#include "sites.h"

namespace djprobe::model {
namespace {

/// Sessions of this scope are on another machine.
class OtherMachine {
  public:
    explicit OtherMachine(void (*change)(djk_machine&)) { change_machine = change; }
    ~OtherMachine() { change_machine = nullptr; }
    OtherMachine(const OtherMachine&) = delete;
    OtherMachine& operator=(const OtherMachine&) = delete;
};

bool has_call(Session& session, const djp_verdict& verdict) {
    for (u64 at = verdict.anchor; at < verdict.anchor + verdict.region_len; ++at)
        if (const Place* place = session.kernel.image.place_at(at))
            if (place->insn.is_call()) return true;
    return false;
}

TEST(Machine, ACallIsNotDisplacedWhereCallsAreCounted) {
    int with = 0, without = 0;
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict& jump) {
        const OtherMachine counts([](djk_machine& machine) { machine.counts_calls = true; });
        Session session(seed);
        const bool call = has_call(session, jump);
        unsigned int reason = 0;
        const djp_verdict verdict = session.explain(site, &reason);
        EXPECT_EQ(verdict.verdict, call ? DJPROBE_VERDICT_INT3 : DJPROBE_VERDICT_JUMP);
        EXPECT_EQ(reason, call ? DJPROBE_REASON_REGION_RESERVED : 0);
        session.finish();
        ++(call ? with : without);
        return with >= 20 && without >= 20;
    });
    EXPECT_GE(with, 20);
}

TEST(Machine, NoIndirectBranchRunsElsewhereWhereItsPlaceInACacheLineCounts) {
    int seen = 0;
    for (u64 seed = 0; seed < 64; ++seed) {
        u64 site = 0;
        {
            Session session(seed);
            for (const Place& place : session.kernel.image.places)
                if ((place.insn.kind == x86::Kind::IndirectCall ||
                     place.insn.kind == x86::Kind::IndirectJump) &&
                    session.explain(place.start()).verdict != DJPROBE_VERDICT_REFUSED)
                    site = place.start();
        }
        if (!site) continue;
        ++seen;
        const OtherMachine aligns([](djk_machine& machine) { machine.aligned_branches = true; });
        Session session(seed);
        unsigned int reason = 0;
        EXPECT_EQ(session.explain(site, &reason).verdict, DJPROBE_VERDICT_REFUSED);
        EXPECT_EQ(reason, DJPROBE_REASON_NOT_RELOCATABLE);
        for (u64 at = site - x86::kMaxRegion; at < site; ++at) {
            if (!session.kernel.image.place_at(at)) continue;
            EXPECT_FALSE(covers(session, at, site)) << std::hex << at << " over " << site;
        }
        session.finish();
    }
    EXPECT_GT(seen, 0);
}

/// Write `jmp *TABLE(,%rax,8)` over plain instructions of a function without branches.
u64 write_table_jump(TextImage& image, bool in_module, u64 away_from) {
    constexpr u8 jump[] = {0xff, 0x24, 0xc5, 0, 0, 0, 0x80};
    for (const Place& place : image.places) {
        const Function* const function = image.function_at(place.start());
        if (function == image.function_at(away_from) || function->in_module != in_module) continue;
        if (place.insn.kind != x86::Kind::Plain || place.insn.length != sizeof(jump)) continue;
        memcpy(image.text(place.start()), jump, sizeof(jump));
        return place.start();
    }
    return 0;
}

/// A place from which a function jumps through a register, and one with a jump in that function.
struct Indirect {
    u64 seed = 0, site = 0;
};

Indirect find_indirect(bool in_module, u64 first) {
    for (u64 seed = first; seed < first + 400; ++seed) {
        const OtherMachine promises([](djk_machine& machine) { machine.no_jump_tables = true; });
        Indirect found{seed, 0};
        std::vector<u64> jumps;
        {
            Session session(seed);
            for (const Place& place : session.kernel.image.places)
                if (session.kernel.image.module().contains(place.start()) == in_module &&
                    session.explain(place.start()).verdict == DJPROBE_VERDICT_JUMP)
                    jumps.push_back(place.start());
            session.finish();
        }
        change_machine = nullptr;
        Session session(seed);
        for (const u64 site : jumps) {
            unsigned int reason = 0;
            (void)session.explain(site, &reason);
            if (reason == DJPROBE_REASON_INDIRECT_JUMP) found.site = site;
        }
        session.finish();
        if (found.site) return found;
    }
    return {};
}

TEST(Machine, AJumpTableIsBelievedMoreThanThePromiseThatThereIsNone) {
    for (const bool in_module : {false, true}) {
        const Indirect found = find_indirect(in_module, 0);
        ASSERT_TRUE(found.site) << "no image has a function that jumps through a register";
        const OtherMachine promises([](djk_machine& machine) { machine.no_jump_tables = true; });
        for (const bool table : {false, true}) {
            Session session(found.seed, [&](TextImage& image) {
                EXPECT_TRUE(!table || write_table_jump(image, in_module, found.site));
            });
            // With so many kprobes a module has no index yet, and its tables are not known: what
            // was found then does not count later.
            session.kernel.more_kprobes = 5000;
            session.explain(found.site);
            session.kernel.more_kprobes = 0;
            unsigned int reason = 0;
            EXPECT_EQ(session.explain(found.site, &reason).verdict,
                      table ? DJPROBE_VERDICT_INT3 : DJPROBE_VERDICT_JUMP);
            EXPECT_EQ(reason, table ? DJPROBE_REASON_INDIRECT_JUMP : 0);
        }
    }
}

}  // namespace
}  // namespace djprobe::model
