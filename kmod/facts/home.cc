// SPDX-License-Identifier: GPL-2.0
#include "home.h"

#include "../../arch/x86/insn/scan.h"
#include "../glue/kernel.h"
#include "function_copy.h"

namespace djprobe::kmod {
namespace {

Range symbol_at(u64 address) {
    u64 start, size;
    return djk_symbol_range(address, &start, &size) ? Range{start, start + size} : Range{};
}

/// A part goes back into the middle of its function, and to no other.
Refusal find_whole(Range part, const OwnText& ours, Range& whole) {
    FunctionCopy copy;
    if (!copy.load(part.begin))
        return copy.out_of_memory() ? Refusal{Reason::NO_MEMORY} : Refusal{};
    copy.recover_own(ours);
    const auto visit = [&](const x86::Insn& insn) {
        if (!insn.rel_size || insn.is_call() || part.contains(insn.target)) return true;
        const Range to = symbol_at(insn.target);
        if (to.begin == insn.target) return true;
        whole = to;
        return !whole.size();
    };
    // What cannot be decoded is no site.
    (void)x86::for_each_insn(copy.code(), part.end, visit);
    return {};
}

}  // namespace

Refusal find_home(u64 address, const OwnText& ours, Range& home) {
    home = {};
    const Range symbol = symbol_at(address);
    if (symbol.size() && !djk_is_compiled(symbol.begin) && djk_is_part(symbol.begin))
        return find_whole(symbol, ours, home);
    if (address == symbol.begin || address == djk_function_entry(symbol.begin)) return {};
    home = symbol;
    return {};
}

}  // namespace djprobe::kmod
