// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/inlined.h"

#include <dwarf.h>

#include <algorithm>

#include "debuginfo/attributes.h"
#include "debuginfo/inlined_index.h"

namespace djprobe::loader {
namespace {

std::string call_file(Dwarf_Die& inlined) {
    Dwarf_Die unit;
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    const std::uint64_t file = number_of(inlined, DW_AT_call_file);
    if (!dwarf_diecu(&inlined, &unit, nullptr, nullptr)) return "";
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || file >= count) return "";
    const char* const name = dwarf_filesrc(files, file, nullptr, nullptr);
    return name ? name : "";
}

// None where its code is gone.
std::optional<StatementSite> site_of(const DwarfFile& debug, std::uint64_t offset) {
    std::optional<Dwarf_Die> die = debug.die_at(offset);
    Dwarf_Addr entry = 0;
    if (!die || dwarf_entrypc(&*die, &entry) != 0 || entry == 0) return std::nullopt;
    const auto place = debug.unique_place_of(entry);
    if (!place) return std::nullopt;
    StatementSite site{
        entry, *place, call_file(*die), static_cast<unsigned>(number_of(*die, DW_AT_call_line)),
        0,     {},     offset};
    for (Dwarf_Die& scope : debug.scopes_of(*die)) {
        const int tag = dwarf_tag(&scope);
        if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) continue;
        const char* const name = dwarf_diename(&scope);
        site.functions.push_back({name ? name : "", dwarf_dieoffset(&scope), false});
    }
    return site;
}

}  // namespace

InlinedFunction inlined_function(const DwarfFile& debug, const std::string& name) {
    const InlinedIndex index = InlinedIndex::of(debug);
    InlinedFunction function;
    for (const std::uint64_t offset : index.find(name))
        if (auto site = site_of(debug, offset)) function.instances.push_back(std::move(*site));
    if (function.instances.empty()) function.others = index.names();
    std::ranges::sort(function.instances, {}, &StatementSite::address);
    return function;
}

}  // namespace djprobe::loader
