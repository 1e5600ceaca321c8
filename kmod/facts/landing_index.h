// SPDX-License-Identifier: GPL-2.0
// Who may land where in the kernel's text: built once, asked for every site.
#pragma once

#include "../../arch/x86/analysis/far_arrivals.h"
#include "../border/memory.h"
#include "../border/text_port.h"
#include "module_index.h"
#include "own_text.h"

namespace djprobe::kmod {

/// What may land in a stretch of text: one landing for each address, so that none is ever dropped.
struct Landings {
    static constexpr size_t kMax = 2 * x86::kTacticReach;
    x86::Landing all[kMax];
    size_t count = 0;

    void add(const x86::Landing& landing) {
        for (size_t i = 0; i < count; ++i)
            if (all[i].target == landing.target) return;
        // Callers ask for at most kMax addresses.
        if (count < kMax) all[count++] = landing;
    }
};

/// Kernel-wide knowledge of landings. Under the registry lock, but for build().
///
/// For each line of the core kernel's text: all places from which something may lead there. Every
/// four bytes of text count as a branch's displacement and as an address, every word of rodata as a
/// pointer; what only looks so is weeded out when somebody asks.
class LandingIndex {
  public:
    /// Two passes over text and rodata, some 5 bytes for each branch; while it is built some 8
    /// more. The text lock is taken for a piece of text at a time: others may change text in
    /// between as they may when it is built. NO_MEMORY; NO_INDEX when kprobes of the kernel hide
    /// too much.
    Refusal build();
    bool is_built() const { return static_cast<bool>(entries_); }

    /// All that may land in `targets`, with its true source: look-alikes are weeded out by decoding
    /// the function that they lie in. `targets` may be core or module text. Branches that our
    /// sites have displaced count as if they were still in the text. At most Landings::kMax
    /// addresses. NO_INDEX or NO_MEMORY when that is not known.
    Refusal find(Range targets, const OwnText& ours, ModuleIndexes& modules, Landings& out) const;

    /// Calls visit() at least for the jump labels and static calls that have a byte in `range`, all
    /// of it core text or of one module.
    void visit_rewritten(Range range, djk_flow_visit visit, void* context) const;
    /// For each byte of a range, whether one of them may lie there: to ask the kernel about one
    /// takes a pass over its tables. Of what is no text nothing is known.
    void mark_rewritten(Range range, u8* marks) const;

  private:
    static constexpr u64 kLineSize = 64;

    struct Builder;
    /// One of the kernel's tables says so; no instruction shows it.
    struct Stated {
        u32 kind;
        u64 source, target;
    };
    /// An entry with this bit is an index into stated_; others are distances from text_.begin.
    static constexpr u32 kStatedBit = 1u << 31;

    size_t line(u64 target) const { return (target - text_.begin) / kLineSize; }
    Refusal try_to_build();
    Refusal find_in_core(Range targets, const OwnText& ours, Landings& out) const;
    Refusal check(u32 entry, size_t line, Range targets, const OwnText& ours,
                  const KernelText& text, Landings& out) const;

    Range text_{};
    Array<u32> begin_;  ///< for each line, and one behind: its first entry
    Array<u32> entries_;
    Array<Stated> stated_;
    Array<djk_rewrite> rewritten_;
    Refusal unknown_{Reason::NO_INDEX};  ///< why it is not built
};

}  // namespace djprobe::kmod
