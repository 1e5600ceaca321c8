// SPDX-License-Identifier: GPL-2.0
#include "survey/blacklist.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "../../kmod/linux_names/fragile.h"
#include "base/error.h"
#include "kernel/rights.h"
#include "survey/image_functions.h"

namespace djprobe::loader {
namespace {

void add_section(const KernelImage& image, std::string_view begin, std::string_view end,
                 std::vector<Range>& ranges) {
    const auto first = image.address_of(begin), last = image.address_of(end);
    if (first && last) ranges.push_back({*first, *last});
}

constexpr const char* kListed = "/sys/kernel/debug/kprobes/blacklist";

void add_listed(std::vector<Range>& ranges) {
    std::ifstream list(kListed);
    if (!list) {
        const int error = errno;
        const bool forbidden = error == EACCES || error == EPERM;
        fail(forbidden ? ExitCode::kNoPermission : ExitCode::kFailure, "{}: {}: {}", kListed,
             std::strerror(error),
             forbidden ? why_not_opened(kListed, {Capability::kDacOverride})
                       : "mount debugfs (mount -t debugfs none /sys/kernel/debug)");
    }
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
    const std::uint64_t begin = image.require("__start_kprobe_blacklist");
    const std::uint64_t end = image.require("__stop_kprobe_blacklist");
    const auto table = image.bytes(begin, end);
    if (begin < end && table.empty())
        image.reject("does not hold the table at __start_kprobe_blacklist");
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
    const ImageFunctions kernel(image);
    const auto text = std::make_unique<x86::FragileText>();
    const Refusal refusal = x86::find_fragile(kernel, Span{djprobe_fragile}, *text);
    if (text->lacking) reject_lacking(image, *text->lacking);
    if (text->unmarked)
        image.reject(fmt::format("its {} calls neither {} nor {}, so that no site is safe",
                                 text->unmarked->name, text->unmarked->mark[0],
                                 text->unmarked->mark[1]));
    if (refusal)
        image.reject(
            fmt::format("the code of a CPU that comes or goes is not known from {:#x} on, so "
                        "that no site is safe",
                        refusal.detail[0]));
    std::vector<Range> ranges(text->ranges, text->ranges + text->count);
    std::ranges::sort(ranges, {}, &Range::begin);
    return ranges;
}

}  // namespace djprobe::loader
