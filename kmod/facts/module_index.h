// SPDX-License-Identifier: GPL-2.0
// Who may land where in the text of a module, as LandingIndex has it of the core kernel's.
#pragma once

#include "../../arch/x86/insn/reason.h"
#include "../border/memory.h"

namespace djprobe::kmod {

/// For each line of one module's text: all places of four bytes from which something may lead
/// there.
class ModuleIndex {
  public:
    /// visit(add) calls add(field, target) for everything that may be a branch, both times the
    /// same: to count, then to note. NO_MEMORY, or what visit() returns.
    template <class Visit>
    Refusal build(Range text, Visit&& visit) {
        text_ = text;
        const size_t lines = line(text_.end - 1) + 1;
        begin_ = Array<u32>(lines + 2);
        if (!begin_) return Refusal{Reason::NO_MEMORY};
        // Counts are kept two places behind; summed up they are the next free entry one place
        // behind, and when all are noted, where the next line begins.
        const auto count = [this](u64, u64 target) {
            if (text_.contains(target)) ++begin_[line(target) + 2];
        };
        if (const Refusal refusal = visit(count)) return refusal;
        for (size_t i = 2; i < lines + 2; ++i)
            begin_[i] += begin_[i - 1];
        // One more: none is no want of memory.
        fields_ = Array<u32>(begin_[lines + 1] + 1);
        if (!fields_) return Refusal{Reason::NO_MEMORY};
        return visit([this](u64 field, u64 target) {
            if (!text_.contains(target)) return;
            const u32 next = begin_[line(target) + 1]++;
            if (next < fields_.size()) fields_[next] = static_cast<u32>(field - text_.begin);
        });
    }

    Range text() const { return text_; }

    /// Calls use(field, line) for every place that may lead into `targets`, or near.
    template <class Use>
    void for_each(Range targets, Use&& use) const {
        for (size_t at = line(targets.begin); at <= line(targets.end - 1); ++at) {
            const u64 begin = text_.begin + at * kLineSize;
            for (u32 i = begin_[at]; i < begin_[at + 1]; ++i)
                use(text_.begin + fields_[i], Range{begin, begin + kLineSize});
        }
    }

    bool jump_tables = false;  ///< the compiler made some in this module
    ModuleIndex* next = nullptr;

  private:
    static constexpr u64 kLineSize = 64;

    size_t line(u64 target) const { return (target - text_.begin) / kLineSize; }

    Range text_{};
    Array<u32> begin_;   ///< for each line, and one behind: its first field
    Array<u32> fields_;  ///< distances from the text's beginning
};

/// Those of all modules that have been asked about. Under the registry lock.
///
/// A site of ours hides branches: an index is built before its module's first one.
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
    /// The text is about to be freed, and may be another module's next.
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
