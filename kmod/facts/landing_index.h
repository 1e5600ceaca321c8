// SPDX-License-Identifier: GPL-2.0
// From where control may land at a place of the kernel's text: built once, asked for every site.
#pragma once

#include "../../arch/x86/analysis/far_arrivals.h"
#include "../border/memory.h"
#include "../border/text_port.h"
#include "decoded_function.h"
#include "module_index.h"
#include "own_text.h"

namespace djprobe::kmod {

/// What may land in a stretch of text: one landing for each address, so that there is room for all.
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

/// Kernel-wide knowledge of landings. Under the registry lock, except build().
///
/// The index lists, for each line of the core kernel's text, all places from which something may
/// lead there. Every four bytes of text count as a branch's displacement and as an address, every
/// word of rodata as a pointer; find() weeds out what only looks so.
class LandingIndex {
  public:
    /// Build the index, without the registry lock: a pass over text and rodata, or two, which take
    /// seconds. It needs some 5 bytes for each branch, and half a byte more for each of the text
    /// while it is built. It takes the text lock for a piece of text at a time: others may change
    /// text in between, as they may afterwards. Refusals: NO_MEMORY; NO_INDEX, when kprobes of the
    /// kernel hide too much.
    Refusal build();
    bool is_built() const { return static_cast<bool>(entries_); }

    /// Finds all that may land in `targets`, with its true source: decoding the function that holds
    /// a look-alike weeds it out. `targets` is core or module text, at most Landings::kMax bytes.
    /// Branches that our sites have displaced count as if they were still in the text. Takes the
    /// text lock. NO_INDEX or NO_MEMORY: not all is known.
    Refusal find(Range targets, const OwnText& ours, ModuleIndexes& modules,
                 SourceFunctions& sources, Landings& out) const;

    /// Calls visit() for all jump labels and static calls that have a byte in `range`, and perhaps
    /// for others. The range lies in the core text or in one module's, which the caller has pinned.
    void visit_rewritten(Range range, djk_flow_visit visit, void* context) const;
    /// Sets marks[i] where a byte of `range` may belong to one of these, because to ask the kernel
    /// takes a pass over its tables. All bytes are marked when the site, in the middle of the
    /// range, is no text.
    void mark_rewritten(Range range, u8* marks) const;

  private:
    static constexpr u64 kLineSize = 64;

    struct Builder;
    /// A landing that a table of the kernel states, and that no instruction shows.
    struct Stated {
        u32 kind;
        u64 source, target;
    };
    /// An entry with this bit is an index into stated_; others are distances from text_.begin.
    static constexpr u32 kStatedBit = 1u << 31;

    size_t line(u64 target) const { return (target - text_.begin) / kLineSize; }
    Refusal try_to_build();
    Refusal find_in_core(Range targets, const OwnText& ours, SourceFunctions& sources,
                         Landings& out) const;
    Refusal check(u32 entry, size_t line, Range targets, const OwnText& ours,
                  const KernelText& text, SourceFunctions& sources, Landings& out) const;

    Range text_{};
    Array<u32> begin_;  ///< the first entry of each line, and of the one behind the last
    Array<u32> entries_;
    Array<Stated> stated_;
    Array<djk_rewrite> rewritten_;
    Refusal unknown_{Reason::NO_INDEX};  ///< why it is not built
};

}  // namespace djprobe::kmod
