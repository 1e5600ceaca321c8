// SPDX-License-Identifier: GPL-2.0
#include "landing_index.h"

#include "../../arch/x86/insn/scan.h"
#include "../border/text_port.h"
#include "function_copy.h"
#include "jump_tables.h"
#include "kernel_text.h"

namespace djprobe::kmod {
namespace {

// A long pass over text pauses after each piece. Pieces overlap, so that no displacement is cut.
constexpr size_t kPiece = 1 << 16;
constexpr size_t kOverlap = 3;

/// Text and rodata stay mapped and readable: no copy is needed to look at them.
template <class T>
Span<const T> in_place(u64 begin, u64 end) {
    return {reinterpret_cast<const T*>(begin), (end - begin) / sizeof(T)};
}

template <class Use>
void for_each_piece(Range text, Use&& use) {
    for (u64 at = text.begin; at < text.end; at += kPiece) {
        const u64 end = at + kPiece + kOverlap < text.end ? at + kPiece + kOverlap : text.end;
        use(Code{at, in_place<u8>(at, end)});
        djk_breathe();
    }
}

Range core_rodata() {
    djk_extent rodata;
    djk_core_rodata_extent(&rodata);
    return {rodata.begin, rodata.end};
}

/// Calls use(insn) for every instruction of the functions in `range` that hold kprobes of the
/// kernel: an optimized one hides the instructions that it has displaced.
template <class Use>
Refusal for_each_hidden(Range range, const KernelText& text, Use&& use) {
    constexpr size_t max = 4096;
    if (!text.has_kprobes()) return {};
    Array<u64> kprobes(max);
    if (!kprobes) return Refusal{Reason::NO_MEMORY};
    const size_t count = djk_list_kprobes(kprobes.data(), max);
    if (count > max) return Refusal{Reason::NO_INDEX};
    for (size_t i = 0; i < count; ++i) {
        // Other text may be gone when an entry about it is looked at again.
        if (!range.contains(kprobes[i])) continue;
        FunctionCopy function;
        if (!function.load(kprobes[i], text))
            return Refusal{function.out_of_memory() ? Reason::NO_MEMORY : Reason::NO_INDEX};
        const Code code = function.code();
        // Bytes that cannot be decoded: another patcher has changed them, and hides what they were.
        if (x86::for_each_insn(code, code.range().end, [&](const x86::Insn& insn) {
                use(insn);
                return true;
            }))
            return Refusal{Reason::NO_INDEX};
        // A tool may have thousands in one function, and others wait for the text lock.
        for (u64& other : kprobes.all().first(count))
            if (code.range().contains(other)) other = 0;
    }
    return {};
}

/// Notes what the 4 bytes at `field` lead to in `targets`: decoding the function that holds them
/// tells. Bytes that cannot be decoded count as a branch. NO_MEMORY: the function cannot be read.
Refusal find_arrivals(u64 field, Range targets, const OwnText& ours, const KernelText& text,
                      SourceFunctions& sources, Landings& out) {
    Code function;
    if (const Refusal refusal = sources.read(field, ours, text, function)) {
        if (refusal.reason == Reason::NO_MEMORY) return refusal;
        // The bytes lie between functions, where no probe is.
        x86::find_long_branches({field, in_place<u8>(field, field + 4)}, targets,
                                [&](u64, u64 target) {
                                    out.add({Reason::BRANCH_INTO_REGION, field, target});
                                    return true;
                                });
        return {};
    }
    const Code piece = {field, function.from(field)};
    if (piece.bytes.size() < 4) return {};
    x86::find_long_branches({field, {piece.bytes.data(), 4}}, targets, [&](u64, u64 target) {
        if (const Refusal arrival = x86::find_long_arrival(function, field, target))
            out.add({arrival.reason, arrival.detail[0], target});
        return true;
    });
    return {};
}

struct Search {
    Range targets;
    Landings* out;
};

void collect(void* context, unsigned int kind, u64 source, u64 target) {
    auto& search = *static_cast<Search*>(context);
    if (search.targets.contains(target))
        search.out->add({static_cast<Reason>(kind), source, target});
}

/// A displaced branch is no longer in the text, but it still runs in a detour. Only the module's
/// own text branches into it.
void find_displaced_branches(Range module, Range targets, const OwnText& ours, Landings& out) {
    ours.for_each_displaced(module, [&](const x86::Insn& insn) {
        if (insn.rel_size && targets.contains(insn.target))
            out.add({Reason::BRANCH_INTO_REGION, insn.address, insn.target});
        if (targets.contains(insn.taken))
            out.add({Reason::POINTER_INTO_REGION, insn.address, insn.taken});
    });
}

/// Only a module's own text branches to its functions, and some modules are large.
Refusal build_module_index(Range module, ModuleIndex& index) {
    index.jump_tables = has_jump_tables(module);
    // No byte may change between the two passes.
    KernelText unchanged;
    return index.build(module, [&](auto&& add) {
        for_each_piece(module, [&](const Code& piece) {
            x86::find_long_branches(piece, module, [&](u64 field, u64 target) {
                if (x86::looks_like_branch(piece, field, target)) add(field, target);
                return true;
            });
        });
        return for_each_hidden(module, unchanged, [&](const x86::Insn& insn) {
            if (const u64 field = x86::long_branch_field(insn)) add(field, insn.target);
            if (insn.taken_offset) add(insn.address + insn.taken_offset, insn.taken);
        });
    });
}

Refusal ensure_module_index(Range module, ModuleIndexes& modules, const ModuleIndex*& out) {
    out = modules.find(module);
    if (out) return {};
    Box<ModuleIndex> index = Box<ModuleIndex>::create();
    if (!index) return Refusal{Reason::NO_MEMORY};
    if (const Refusal refusal = build_module_index(module, *index)) return refusal;
    out = index.get();
    modules.keep(static_cast<Box<ModuleIndex>&&>(index));
    return {};
}

/// Notes what the four bytes at `field` lead to in `targets`, as LandingIndex::check() does.
Refusal check_field(u64 field, Range line, Range targets, const OwnText& ours,
                    const KernelText& text, SourceFunctions& sources, Landings& out) {
    bool changed = true;
    bool leads = false;
    // An optimized kprobe of the kernel may cover a part of the field only, and leave a field that
    // does not look changed.
    const bool hidden = text.has_kprobes() && find_kprobe_over({field, field + 4});
    x86::find_long_branches({field, in_place<u8>(field, field + 4)}, line, [&](u64, u64 target) {
        changed = false;
        leads |= targets.contains(target);
        return true;
    });
    if (!leads && !changed && !hidden) return {};
    return find_arrivals(field, targets, ours, text, sources, out);
}

Refusal find_in_module(Range module, Range targets, const OwnText& ours, ModuleIndexes& modules,
                       SourceFunctions& sources, Landings& out) {
    const ModuleIndex* index = nullptr;
    if (const Refusal refusal = ensure_module_index(module, modules, index)) return refusal;
    find_displaced_branches(module, targets, ours, out);
    // Without the lock, what an optimized kprobe hides while the text is read could be back in the
    // text by the time that kprobes are asked for, and be missed twice.
    KernelText unchanged;
    Refusal unknown;
    index->for_each(targets, [&](u64 field, Range line) {
        if (!unknown) unknown = check_field(field, line, targets, ours, unchanged, sources, out);
    });
    if (unknown) return unknown;
    Search search{targets, &out};
    djk_visit_landings(targets.begin, collect, &search);
    return for_each_hidden(module, unchanged, [&](const x86::Insn& insn) {
        if (x86::long_branch_field(insn) && targets.contains(insn.target))
            out.add({Reason::BRANCH_INTO_REGION, insn.address, insn.target});
        if (targets.contains(insn.taken))
            out.add({Reason::POINTER_INTO_REGION, insn.address, insn.taken});
    });
}

}  // namespace

/// Visits all places from which control, or a pointer, may lead into the text.
struct LandingIndex::Builder {
    /// One entry, with the line to sort it by.
    struct Arrival {
        u32 line, entry;
    };

    LandingIndex& index;
    Span<Arrival> arrivals;  ///< room; empty in the pass that counts
    Span<Stated> stated;
    size_t arrival_count = 0, stated_count = 0;

    bool is_complete() const {
        return arrival_count <= arrivals.size() && stated_count <= stated.size();
    }
    void add(u64 target, u32 entry) {
        if (!index.text_.contains(target)) return;
        const size_t number = arrival_count++;
        if (number < arrivals.size())
            arrivals[number] = {static_cast<u32>(index.line(target)), entry};
    }
    u32 distance(u64 place) const { return static_cast<u32>(place - index.text_.begin); }

    static void state(void* context, unsigned int kind, u64 source, u64 target) {
        auto& self = *static_cast<Builder*>(context);
        const size_t number = self.stated_count++;
        if (number < self.stated.size()) self.stated[number] = {kind, source, target};
        self.add(target, static_cast<u32>(number) | kStatedBit);
    }

    /// Under the text lock: a kprobe that comes or goes changes this piece before, or after.
    Refusal visit(const Code& piece) {
        KernelText unchanged;
        x86::find_long_branches(piece, index.text_, [&](u64 field, u64 target) {
            // for_each_hidden() finds what optimized kprobes have overwritten.
            if (x86::looks_like_branch(piece, field, target)) add(target, distance(field));
            return true;
        });
        const Range covered = {piece.address - (x86::kJumpLength - 1), piece.range().end};
        return for_each_hidden(covered, unchanged, [this](const x86::Insn& insn) {
            if (const u64 field = x86::long_branch_field(insn)) add(insn.target, distance(field));
            if (insn.taken_offset) add(insn.taken, distance(insn.address + insn.taken_offset));
        });
    }

    Refusal visit_all() {
        Refusal refusal;
        for_each_piece(index.text_, [&](const Code& piece) {
            if (!refusal) refusal = visit(piece);
        });
        const Range rodata = core_rodata();
        for (const u64& word : in_place<u64>(rodata.begin, rodata.end)) {
            const u64 place = reinterpret_cast<u64>(&word);
            if (place % kPiece == 0) djk_breathe();
            add(word, distance(place));
        }
        djk_visit_landings(0, state, this);
        return refusal;
    }
};

Refusal LandingIndex::try_to_build() {
    text_ = core_text();
    const size_t lines = line(text_.end - 1) + 1;
    begin_ = Array<u32>(lines + 1);
    rewritten_ = Array<djk_rewrite>(djk_list_rewritten(nullptr, 0));
    if (!begin_ || !rewritten_) return Refusal{Reason::NO_MEMORY};
    djk_list_rewritten(rewritten_.data(), rewritten_.size());
    Builder tables{*this, {}, {}};
    djk_visit_landings(0, Builder::state, &tables);
    stated_ = Array<Stated>(tables.stated_count + 64);
    // Kernels have an arrival for each 20 to 30 bytes of text. A pass that finds more counts them,
    // for the next. Others change text meanwhile, so that one may find some more, too.
    Array<Builder::Arrival> arrivals(text_.size() / 16);
    if (!arrivals || !stated_) return Refusal{Reason::NO_MEMORY};
    size_t count = 0;
    for (bool complete = false; !complete;) {
        Builder builder{*this, arrivals.all(), stated_.all()};
        if (const Refusal refusal = builder.visit_all()) return refusal;
        complete = builder.is_complete();
        count = builder.arrival_count;
        if (complete) break;
        arrivals = Array<Builder::Arrival>(count + count / 64 + 64);
        stated_ = Array<Stated>(builder.stated_count + 64);
        if (!arrivals || !stated_) return Refusal{Reason::NO_MEMORY};
    }
    Array<u32> entries(count + 1);
    if (!entries) return Refusal{Reason::NO_MEMORY};
    const Span<const Builder::Arrival> all = arrivals.all().first(count);
    for (const auto& arrival : all)
        ++begin_[arrival.line];
    // begin_[] holds the end of each line; each entry that is stored moves it towards the
    // beginning.
    for (size_t i = 1; i <= lines; ++i)
        begin_[i] += begin_[i - 1];
    for (const auto& arrival : all)
        entries[--begin_[arrival.line]] = arrival.entry;
    entries_ = static_cast<Array<u32>&&>(entries);
    return {};
}

Refusal LandingIndex::build() {
    const Refusal refusal = try_to_build();
    if (refusal) {
        *this = LandingIndex{};
        unknown_ = refusal;
    }
    return refusal;
}

Refusal LandingIndex::check(u32 entry, size_t line, Range targets, const OwnText& ours,
                            const KernelText& text, SourceFunctions& sources, Landings& out) const {
    if (entry & kStatedBit) {
        const Stated& stated = stated_[entry & ~kStatedBit];
        if (targets.contains(stated.target))
            out.add({static_cast<Reason>(stated.kind), stated.source, stated.target});
        return {};
    }
    const u64 place = text_.begin + entry;
    if (!text_.contains(place)) {
        const u64 word = *reinterpret_cast<const u64*>(place);
        if (targets.contains(word)) out.add({Reason::POINTER_INTO_REGION, place, word});
        return {};
    }
    bool changed = true;
    bool leads = false;
    // An optimized kprobe of the kernel may cover a part of the field only, and leave a field that
    // does not look changed.
    const bool hidden = text.has_kprobes() && find_kprobe_over({place, place + 4});
    const Range here = {text_.begin + line * kLineSize, text_.begin + (line + 1) * kLineSize};
    x86::find_long_branches({place, in_place<u8>(place, place + 4)}, here, [&](u64, u64 target) {
        changed = false;
        leads |= targets.contains(target);
        return true;
    });
    // What a patcher has displaced or hidden since then is found in the function as it was before.
    if (!leads && !changed && !hidden) return {};
    return find_arrivals(place, targets, ours, text, sources, out);
}

Refusal LandingIndex::find_in_core(Range targets, const OwnText& ours, SourceFunctions& sources,
                                   Landings& out) const {
    KernelText unchanged;
    for (size_t at = line(targets.begin); at <= line(targets.end - 1); ++at)
        for (u32 i = begin_[at]; i < begin_[at + 1]; ++i)
            if (const Refusal refusal =
                    check(entries_[i], at, targets, ours, unchanged, sources, out))
                return refusal;
    return {};
}

Refusal LandingIndex::find(Range targets, const OwnText& ours, ModuleIndexes& modules,
                           SourceFunctions& sources, Landings& out) const {
    djk_extent text;
    if (!djk_text_extent(targets.begin, &text)) return Refusal{Reason::NOT_TEXT};
    if (text.begin != core_text().begin)
        return find_in_module({text.begin, text.end}, targets, ours, modules, sources, out);
    if (!is_built()) return unknown_;
    return find_in_core(targets, ours, sources, out);
}

void LandingIndex::visit_rewritten(Range range, djk_flow_visit visit, void* context) const {
    if (!entries_ || !text_.contains(range.begin)) {
        djk_visit_rewritten_flow(range.begin, visit, context);
        return;
    }
    // A label or call that begins before the range may reach into it.
    const u64 from = range.begin - (x86::kJumpLength - 1);
    size_t first = first_from(rewritten_.all(), from,
                              [](const djk_rewrite& rewrite) { return rewrite.place; });
    for (; first < rewritten_.size() && rewritten_[first].place < range.end; ++first)
        visit(context, rewritten_[first].kind, rewritten_[first].place, rewritten_[first].target);
}

void LandingIndex::mark_rewritten(Range range, u8* marks) const {
    struct Marks {
        Range range;
        u8* marks;

        static void visit(void* context, unsigned int, unsigned long place, unsigned long) {
            const auto& self = *static_cast<Marks*>(context);
            for (u64 at = place; at < place + x86::kJumpLength; ++at)
                if (self.range.contains(at)) self.marks[at - self.range.begin] = 1;
        }
    };
    // Text around a module's belongs to others. The site is in the middle of the range.
    djk_extent text;
    const bool known = djk_text_extent(range.begin + range.size() / 2, &text);
    for (u64 i = 0; i < range.size(); ++i)
        marks[i] = !known;
    if (!known) return;
    Marks context{range, marks};
    visit_rewritten({range.begin > text.begin ? range.begin : text.begin, range.end}, Marks::visit,
                    &context);
}

}  // namespace djprobe::kmod
