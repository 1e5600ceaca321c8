// SPDX-License-Identifier: GPL-2.0
// A function in the arena with a detour for one of its instructions.
#pragma once

#include "arch/x86/detour/patch.h"
#include "support/bench.h"
#include "support/handler.h"

namespace djprobe::test {

class Detoured {
  public:
    /// Puts `code` and emits the detour for the site at `offset`, by whatever tactic fits; expects
    /// both to be possible.
    Detoured(Bench& bench, const Bytes& code, size_t offset = 0, bool smap = false);

    /// Whether that site of `code` gets a jump.
    static bool is_possible(const Bench& bench, const Bytes& code, size_t offset);

    const x86::Plan& plan() const { return plan_; }
    const x86::DetourLayout& layout() const { return layout_; }
    u64 site() const { return plan_.site; }
    u64 entry() const { return slot_ + layout_.entry; }
    u64 displaced() const { return slot_ + layout_.displaced; }
    u64 out_of_line() const { return slot_ + layout_.out_of_line; }

    void write_jump();
    /// The same to a detour that another emitter has made for the plan.
    void write_jump_to(u64 entry);
    void write_original();

    /// Expects that from `machine` at the function's start, the original, the detour and both of
    /// the int3's resume points end alike, and that the handler saw the registers as they were at
    /// the site. The code must pass the site once at most; the handler runs if it does.
    void expect_same(const Machine& machine);

  private:
    /// Whether a run from `start` reaches the site, and what it comes with.
    bool reaches_site(const Machine& start, Machine& at_site);
    void expect_hit(const Machine& at_site);
    void make_patches(u64 entry);

    Bench& bench_;
    u64 slot_;
    u64 code_end_;
    x86::Plan plan_;
    x86::DetourLayout layout_;
    x86::PatchSite patch_;
    x86::PatchSite board_;
};

}  // namespace djprobe::test
