// SPDX-License-Identifier: GPL-2.0
// From where control may land at a place of a module's text; LandingIndex knows the core kernel's.
#pragma once

#include "../../arch/x86/insn/reason.h"
#include "../border/memory.h"

namespace djprobe::kmod {

/// Lists, for each line of one module's text, all four-byte fields that may lead there.
class ModuleIndex {
  public:
    /// visit(add) calls add(field, target) for everything that may be a branch. It is called twice,
    /// to count and to note, and must say the same both times. NO_MEMORY, or visit()'s refusal.
    template <class Visit>
    Refusal build(Range text, Visit&& visit) {
        text_ = text;
        const size_t lines = line(text_.end - 1) + 1;
        begin_ = Array<u32>(lines + 2);
        if (!begin_) return Refusal{Reason::NO_MEMORY};
        // The count of a line is kept two places behind it. Summed up, the place one behind a line
        // holds its next free entry; when all are noted, that is where the next line begins.
        const auto count = [this](u64, u64 target) {
            if (text_.contains(target)) ++begin_[line(target) + 2];
        };
        if (const Refusal refusal = visit(count)) return refusal;
        for (size_t i = 2; i < lines + 2; ++i)
            begin_[i] += begin_[i - 1];
        // One more than needed: an array of none could not be told from want of memory.
        fields_ = Array<u32>(begin_[lines + 1] + 1);
        if (!fields_) return Refusal{Reason::NO_MEMORY};
        return visit([this](u64 field, u64 target) {
            if (!text_.contains(target)) return;
            const u32 next = begin_[line(target) + 1]++;
            if (next < fields_.size()) fields_[next] = static_cast<u32>(field - text_.begin);
        });
    }

    Range text() const { return text_; }

    /// Calls use(field, line) for every field that may lead into `targets`, or near.
    template <class Use>
    void for_each(Range targets, Use&& use) const {
        for (size_t at = line(targets.begin); at <= line(targets.end - 1); ++at) {
            const u64 begin = text_.begin + at * kLineSize;
            for (u32 i = begin_[at]; i < begin_[at + 1]; ++i)
                use(text_.begin + fields_[i], Range{begin, begin + kLineSize});
        }
    }

    bool jump_tables = false;  ///< the compiler has made jump tables in this module
    ModuleIndex* next = nullptr;

  private:
    static constexpr u64 kLineSize = 64;

    size_t line(u64 target) const { return (target - text_.begin) / kLineSize; }

    Range text_{};
    Array<u32> begin_;   ///< the first field of each line, and of the one behind the last
    Array<u32> fields_;  ///< distances from the text's beginning
};

/// The indexes of all modules that have been asked about. Under the registry lock.
///
/// A site of ours hides branches, so an index is built before its module's first site.
class ModuleIndexes {
  public:
    ModuleIndexes() = default;
    ModuleIndexes(const ModuleIndexes&) = delete;
    ModuleIndexes& operator=(const ModuleIndexes&) = delete;
    ~ModuleIndexes() { forget({0, ~u64{0}}); }

    /// nullptr: none has been built.
    ModuleIndex* find(Range text) const {
        ModuleIndex* index = first_;
        while (index && (index->text().begin != text.begin || index->text().end != text.end))
            index = index->next;
        return index;
    }
    void keep(Box<ModuleIndex> index) {
        index->next = first_;
        first_ = index.release();
    }
    /// The kernel is about to free this text, and may give it to another module.
    void forget(Range text) {
        for (ModuleIndex** link = &first_; *link;) {
            if (!(*link)->text().overlaps(text)) {
                link = &(*link)->next;
                continue;
            }
            Box<ModuleIndex> gone = Box<ModuleIndex>::adopt(*link);
            *link = gone->next;
        }
    }

  private:
    ModuleIndex* first_ = nullptr;
};

}  // namespace djprobe::kmod
