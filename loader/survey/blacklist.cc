// SPDX-License-Identifier: GPL-2.0
#include "survey/blacklist.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>

#include "../../arch/x86/fragile_names.h"

namespace djprobe::loader {
namespace {

void add_section(const KernelImage& image, std::string_view begin, std::string_view end,
                 std::vector<Range>& ranges) {
    const auto first = image.address_of(begin), last = image.address_of(end);
    if (first && last) ranges.push_back({*first, *last});
}

void add_listed(std::vector<Range>& ranges) {
    std::ifstream list("/sys/kernel/debug/kprobes/blacklist");
    if (!list)
        throw std::runtime_error(
            "/sys/kernel/debug/kprobes/blacklist: cannot be read (is debugfs mounted?)");
    // "0xBEGIN-0xEND\tNAME"
    for (std::string line; std::getline(list, line);) {
        Range range;
        const char* const end = line.data() + line.size();
        const auto first = std::from_chars(line.data() + 2, end, range.begin, 16);
        if (first.ec == std::errc{} && end - first.ptr > 3 &&
            std::from_chars(first.ptr + 3, end, range.end, 16).ec == std::errc{})
            ranges.push_back(range);
    }
}

std::uint64_t next_symbol(const std::vector<Symbol>& symbols, std::uint64_t address) {
    const auto next = std::ranges::upper_bound(symbols, address, {}, &Symbol::address);
    return next == symbols.end() ? address + 1 : next->address;
}

void add_recorded(const KernelImage& image, std::vector<Range>& ranges) {
    const auto begin = image.address_of("__start_kprobe_blacklist");
    const auto end = image.address_of("__stop_kprobe_blacklist");
    if (!begin || !end)
        throw std::runtime_error("the kernel has no symbol __start_kprobe_blacklist");
    const auto table = image.bytes(*begin, *end);
    if (*begin < *end && table.empty())
        throw std::runtime_error("the image does not hold __start_kprobe_blacklist");
    for (std::size_t at = 0; at + 8 <= table.size(); at += 8) {
        std::uint64_t start;
        std::memcpy(&start, table.data() + at, sizeof start);
        ranges.push_back({start, next_symbol(image.symbols().symbols(), start)});
    }
}

/// What the compiler has split off (NAME.part.0, NAME.cold) is judged as NAME is, wherever it lies.
void add_parts(const std::vector<Symbol>& symbols, std::vector<Range>& ranges) {
    std::unordered_set<std::string_view> names;
    for (const Range range : ranges)
        for (auto symbol = std::ranges::lower_bound(symbols, range.begin, {}, &Symbol::address);
             symbol != symbols.end() && symbol->address < range.end; ++symbol)
            names.insert(symbol->name);
    for (const Symbol& symbol : symbols) {
        const std::size_t dot = symbol.name.find('.');
        if (dot != symbol.name.npos && symbol.is_text() &&
            names.contains(symbol.name.substr(0, dot)))
            ranges.push_back({symbol.address, next_symbol(symbols, symbol.address)});
    }
}

}  // namespace

std::vector<Range> read_blacklist(const KernelImage& image) {
    std::vector<Range> ranges;
    add_section(image, "__noinstr_text_start", "__noinstr_text_end", ranges);
    add_section(image, "__entry_text_start", "__entry_text_end", ranges);
    add_section(image, "__kprobes_text_start", "__kprobes_text_end", ranges);
    if (image.is_live())
        add_listed(ranges);
    else
        add_recorded(image, ranges);
    add_parts(image.symbols().symbols(), ranges);
    std::ranges::sort(ranges, {}, &Range::begin);
    return ranges;
}

std::vector<Range> read_fragile(const KernelImage& image) {
    std::vector<Range> ranges;
    for (const auto& name : djprobe_fragile) {
        const auto from = image.address_of(name.from);
        if (!from) continue;
        const auto to = image.address_of(name.to);
        ranges.push_back({*from, to ? *to : next_symbol(image.symbols().symbols(), *from)});
    }
    std::ranges::sort(ranges, {}, &Range::begin);
    return ranges;
}

}  // namespace djprobe::loader
