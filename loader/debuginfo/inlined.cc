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
    site.is_begin = true;
    for (Dwarf_Die& scope : debug.scopes_of(*die)) {
        const int tag = dwarf_tag(&scope);
        if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) continue;
        const char* const name = dwarf_diename(&scope);
        site.functions.push_back({name ? name : "", dwarf_dieoffset(&scope), false});
    }
    return site;
}

void add_instances(Dwarf_Die in, const std::string& name, std::vector<std::uint64_t>& instances) {
    Dwarf_Die child;
    for (int more = dwarf_child(&in, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        const int tag = dwarf_tag(&child);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) continue;
        const char* const own = dwarf_diename(&child);
        if (tag == DW_TAG_inlined_subroutine && own && own == name)
            instances.push_back(dwarf_dieoffset(&child));
        add_instances(child, name, instances);
    }
}

}  // namespace

std::vector<std::uint64_t> instances_in(const DwarfFile& debug, std::uint64_t function,
                                        const std::string& name) {
    std::vector<std::uint64_t> instances;
    const std::optional<Dwarf_Die> die = debug.die_at(function);
    if (die) add_instances(*die, name, instances);
    return instances;
}

InlinedFunction inlined_function(const DwarfFile& debug, const std::string& name) {
    const InlinedIndex index = InlinedIndex::of(debug);
    InlinedFunction function;
    for (const std::uint64_t offset : index.find(name))
        if (auto site = site_of(debug, offset)) function.instances.push_back(std::move(*site));
    if (function.instances.empty()) function.others = index.names();
    std::ranges::sort(function.instances, {}, &StatementSite::address);
    return function;
}

std::vector<StatementSite> copies_of(const DwarfFile& debug, FunctionRows& rows,
                                     const StatementSite& begin) {
    std::vector<StatementSite> copies;
    std::optional<Dwarf_Die> die = debug.die_at(begin.instance());
    if (!die) return copies;
    const std::vector<StatementRow> all = rows.of(*die);
    const auto begins_there = [&](const StatementRow& row) {
        return std::ranges::any_of(all, [&](const StatementRow& first) {
            return first.address == begin.address && first.line == row.line &&
                   first.column == row.column && std::string_view(first.file) == row.file;
        });
    };
    for (const StatementRow& row : all) {
        if (row.address == begin.address || !begins_there(row)) continue;
        if (!copies.empty() && copies.back().address == row.address) continue;
        const auto place = debug.unique_place_of(row.address);
        if (!place) continue;
        copies.push_back(begin);
        copies.back().address = row.address;
        copies.back().place = *place;
    }
    return copies;
}

}  // namespace djprobe::loader
