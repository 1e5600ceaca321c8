// SPDX-License-Identifier: GPL-2.0
#include "survey/tracer_calls.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace djprobe::loader {
namespace {

/// ftrace's own two entries, and those that it and BPF make.
bool is_of_tracer(const Symbol& symbol) {
    return symbol.module == "__builtin__ftrace" || symbol.module == "bpf" ||
           symbol.name == "ftrace_caller" || symbol.name == "ftrace_regs_caller";
}

/// Any of the symbols there: ftrace keeps the names of a module's init functions for its old
/// traces, and a new trampoline may lie where such a function was.
bool is_tracer(const Kallsyms& symbols, std::uint64_t target) {
    const auto& all = symbols.symbols();
    auto at = std::ranges::lower_bound(all, target, {}, &Symbol::address);
    while (at != all.end() && at->address == target && !is_of_tracer(*at))
        ++at;
    return at != all.end() && at->address == target;
}

}  // namespace

void undo_tracer_calls(const Kallsyms& symbols, std::uint64_t address,
                       std::span<std::uint8_t> text) {
    static constexpr std::array<std::uint8_t, 5> nop = {0x0f, 0x1f, 0x44, 0x00, 0x00};
    const auto undo = [&](std::uint64_t offset) {
        if (offset + nop.size() > text.size() || text[offset] != 0xe8) return;
        std::int32_t distance = 0;
        std::memcpy(&distance, &text[offset + 1], sizeof(distance));
        const std::uint64_t end = address + offset + nop.size();
        if (is_tracer(symbols, end + static_cast<std::uint64_t>(std::int64_t{distance})))
            std::ranges::copy(nop, text.begin() + static_cast<std::ptrdiff_t>(offset));
    };
    constexpr std::uint64_t endbr = 4;
    const auto& all = symbols.symbols();
    auto at = std::ranges::lower_bound(all, address, {}, &Symbol::address);
    for (; at != all.end() && at->address < address + text.size(); ++at) {
        undo(at->address - address);
        undo(at->address - address + endbr);
    }
}

}  // namespace djprobe::loader
