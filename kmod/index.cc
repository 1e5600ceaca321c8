// SPDX-License-Identifier: GPL-2.0
#include "index.h"

#include "../arch/x86/scan.h"
#include "function.h"

namespace djprobe::kmod {
namespace {

using x86::Landing;

// Long passes over text pause this often, and pieces overlap so that no displacement is cut.
constexpr size_t kPiece = 1 << 16;
constexpr size_t kOverlap = 3;

/// Text and rodata are mapped readable for good; no copy is needed to look at them.
template <class T>
Span<const T> in_place(u64 begin, u64 end) {
    return {reinterpret_cast<const T*>(begin), (end - begin) / sizeof(T)};
}

template <class Use>
void for_each_piece(djk_extent text, Use&& use) {
    for (u64 at = text.begin; at < text.end; at += kPiece) {
        const u64 end = at + kPiece + kOverlap < text.end ? at + kPiece + kOverlap : text.end;
        use(Code{at, in_place<u8>(at, end)});
        djk_breathe();
    }
}

struct Search {
    Range targets;
    Landings* out;
};

void mark(void* context, unsigned int, u64, u64 target) {
    static_cast<x86::LandingMap*>(context)->add(target);
}

void collect(void* context, unsigned int kind, u64 source, u64 target) {
    auto& search = *static_cast<Search*>(context);
    if (search.targets.contains(target))
        search.out->add({static_cast<Reason>(kind), source, target});
}

/// A look-alike's function is decoded; what cannot be decoded counts as a branch.
Refusal find_arrival(u64 field, u64 target, const SiteTable& sites) {
    FunctionCopy function;
    if (!function.load(field)) return Refusal{Reason::BRANCH_INTO_REGION, field};
    function.recover_own(sites);
    return x86::find_long_arrival(function.code(), field, target);
}

void find_branches(djk_extent text, Range targets, const SiteTable& sites, Landings& out) {
    for_each_piece(text, [&](const Code& piece) {
        x86::find_long_branches(piece, targets, [&](u64 field, u64 target) {
            if (const Refusal arrival = find_arrival(field, target, sites))
                out.add({arrival.reason, arrival.detail[0], target});
            return true;
        });
    });
}

/// A displaced branch has left the text but still runs, in a detour.
void find_displaced_branches(Range targets, const SiteTable& sites, Landings& out) {
    for (const Site* site = sites.first(); site; site = site->next)
        for (const x86::Insn& insn : site->plan.region.all()) {
            if (insn.rel_size && targets.contains(insn.target))
                out.add({Reason::BRANCH_INTO_REGION, insn.address, insn.target});
            if (targets.contains(insn.taken))
                out.add({Reason::POINTER_INTO_REGION, insn.address, insn.taken});
        }
}

/// An optimized kprobe of the kernel hides the branches that it has displaced, and other text may
/// be asked for while it does. Calls use(insn) for every instruction of the functions that have
/// kprobes.
template <class Use>
Refusal for_each_hidden(Use&& use) {
    constexpr size_t max = 4096;
    Array<u64> kprobes(max);
    if (!kprobes) return Refusal{Reason::NO_INDEX};
    const size_t count = djk_list_kprobes(kprobes.data(), max);
    if (count > max) return Refusal{Reason::NO_INDEX};
    for (size_t i = 0; i < count; ++i) {
        FunctionCopy function;
        // Of a module that has gone meanwhile.
        if (!function.load(kprobes[i])) continue;
        const Code code = function.code();
        // What cannot be decoded was text before somebody patched it: nothing is known of it.
        if (x86::for_each_insn(code, code.range().end, [&](const x86::Insn& insn) {
                use(insn);
                return true;
            }))
            return Refusal{Reason::NO_INDEX};
    }
    return {};
}

void find_pointers(djk_extent rodata, Range targets, Landings& out) {
    const Span<const u64> words = in_place<u64>(rodata.begin, rodata.end);
    for (const u64& word : words)
        if (targets.contains(word))
            out.add({Reason::POINTER_INTO_REGION, reinterpret_cast<u64>(&word), word});
}

}  // namespace

Refusal LandingIndex::ensure() {
    if (bits_) return {};
    djk_extent text, rodata;
    djk_core_text_extent(&text);
    djk_core_rodata_extent(&rodata);
    const Range range = {text.begin, text.end};
    Array<u8> bits(x86::LandingMap::bytes_needed(range));
    if (!bits) return Refusal{Reason::NO_INDEX};
    map_ = x86::LandingMap(range, bits.all());
    for_each_piece(text, [this](const Code& piece) { map_.add_long_branches(piece); });
    map_.add_pointers(in_place<u64>(rodata.begin, rodata.end));
    djk_visit_landings(0, mark, &map_);
    if (const Refusal refusal = for_each_hidden([this](const x86::Insn& insn) {
            if (insn.rel_size) map_.add(insn.target);
        }))
        return refusal;
    bits_ = static_cast<Array<u8>&&>(bits);
    return {};
}

Refusal LandingIndex::find(Range targets, const SiteTable& sites, Landings& out) {
    djk_extent text;
    if (!djk_text_extent(targets.begin, &text)) return Refusal{Reason::NOT_TEXT};
    find_displaced_branches(targets, sites, out);
    Search search{targets, &out};
    djk_extent core;
    djk_core_text_extent(&core);
    if (text.begin != core.begin) {
        // A module is small and only its own text branches into its functions: no index.
        find_branches(text, targets, sites, out);
        djk_visit_landings(targets.begin, collect, &search);
        return {};
    }
    if (const Refusal refusal = ensure()) return refusal;
    if (!map_.any(targets)) return {};
    djk_extent rodata;
    djk_core_rodata_extent(&rodata);
    djk_visit_landings(0, collect, &search);
    find_pointers(rodata, targets, out);
    find_branches(text, targets, sites, out);
    return for_each_hidden([&](const x86::Insn& insn) {
        if (insn.rel_size && targets.contains(insn.target))
            out.add({Reason::BRANCH_INTO_REGION, insn.address, insn.target});
    });
}

}  // namespace djprobe::kmod
