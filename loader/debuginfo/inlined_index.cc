// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/inlined_index.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <map>

#include "base/progress.h"
#include "debuginfo/kept_text.h"

namespace djprobe::loader {
namespace {

constexpr std::string_view kHead = "probeload inlined functions 2\n";

using Found = std::map<std::string, std::vector<std::uint64_t>, std::less<>>;

void walk(Dwarf_Die& of, Found& found) {
    Dwarf_Die child;
    for (int more = dwarf_child(&of, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        const int tag = dwarf_tag(&child);
        const bool is_inlined = tag == DW_TAG_inlined_subroutine;
        if (!is_inlined && tag != DW_TAG_subprogram && tag != DW_TAG_lexical_block) continue;
        const char* const name = is_inlined ? dwarf_diename(&child) : nullptr;
        if (name) found[name].push_back(dwarf_dieoffset(&child));
        walk(child, found);
    }
}

std::string text_of(const Found& found) {
    std::string text(kHead);
    for (const auto& [name, offsets] : found) {
        text += name;
        for (const std::uint64_t offset : offsets)
            fmt::format_to(std::back_inserter(text), " {:x}", offset);
        text += '\n';
    }
    return text;
}

}  // namespace

InlinedIndex InlinedIndex::of(const DwarfFile& debug) {
    return InlinedIndex(
        kept_text(debug, {".inlined", std::string(kHead)}, [&] { return made(debug).text_; }));
}

InlinedIndex InlinedIndex::made(const DwarfFile& debug) {
    Found found;
    std::vector<Dwarf_Die> units = debug.units();
    Progress progress("reading debug information", units.size());
    for (std::size_t i = 0; i < units.size(); ++i) {
        walk(units[i], found);
        progress.at(i + 1);
    }
    return InlinedIndex(text_of(found));
}

std::vector<std::uint64_t> InlinedIndex::find(std::string_view name) const {
    const std::string begin = fmt::format("\n{} ", name);
    const std::size_t at = text_.find(begin);
    if (at == text_.npos) return {};
    const char* from = text_.data() + at + begin.size();
    const char* const end = text_.data() + text_.find('\n', at + 1);
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t offset = 0; from < end; ++from) {
        from = std::from_chars(from, end, offset, 16).ptr;
        offsets.push_back(offset);
    }
    return offsets;
}

std::vector<std::string> InlinedIndex::names() const {
    std::vector<std::string> names;
    for (std::size_t at = kHead.size(); at < text_.size(); at = text_.find('\n', at) + 1)
        names.push_back(text_.substr(at, text_.find(' ', at) - at));
    return names;
}

}  // namespace djprobe::loader
