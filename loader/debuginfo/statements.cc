// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/statements.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "debuginfo/included_files.h"
#include "debuginfo/source_files.h"
#include "debuginfo/statement_rows.h"

namespace djprobe::loader {
namespace {

// A file of C is its unit's own, or compiled within another one; a header may be in all units.
std::vector<Dwarf_Die> units_of(const DwarfFile& debug, const std::string& file) {
    std::vector<Dwarf_Die> units = debug.units();
    std::vector<Dwarf_Die> own;
    for (Dwarf_Die& unit : units) {
        const char* const name = dwarf_diename(&unit);
        if (name && path_ends_in(name, file)) own.push_back(unit);
    }
    if (file.ends_with(".c"))
        std::ranges::copy(units_including(debug, file), std::back_inserter(own));
    return own.empty() ? units : own;
}

// Of a function with code of its own.
bool is_entry_of(Dwarf_Die& function, std::uint64_t address) {
    Dwarf_Addr entry = 0;
    return dwarf_tag(&function) == DW_TAG_subprogram && dwarf_entrypc(&function, &entry) == 0 &&
           entry == address;
}

// What the instruction stands in, the innermost first. SYSCALL_DEFINE3() and the like make several
// functions, which call one another, on one line. Of a line that is a function by itself the
// statement is that function's, whatever has been inlined around the instruction.
std::vector<Dwarf_Die> scopes_of(const DwarfFile& debug, const StatementRow& row) {
    std::vector<Dwarf_Die> scopes = debug.scopes_at(row.address);
    const auto written = std::ranges::find_if(scopes, [&](Dwarf_Die& scope) {
        return is_function(scope) && is_written_at(scope, row.file, row.line);
    });
    if (written != scopes.end()) scopes.erase(scopes.begin(), written);
    return scopes;
}

std::optional<StatementSite> site_at(const DwarfFile& debug, const StatementRow& row) {
    const std::optional<SymbolPlace> place = debug.unique_place_of(row.address);
    if (!place) return std::nullopt;
    StatementSite site{row.address, *place, row.file, row.line, row.column, {}, 0};
    for (Dwarf_Die& scope : scopes_of(debug, row)) {
        const bool is_written_here = is_function(scope) && is_written_at(scope, row.file, row.line);
        const bool is_called_here = is_called_at(scope, row.file, row.line);
        // The call of an inlined function may begin at the instruction at which the function does.
        if (site.functions.empty() && !is_written_here && is_called_here) {
            // What stands in the function that is called is not the statement's.
            site.scope = 0;
            continue;
        }
        if (!site.scope) site.scope = dwarf_dieoffset(&scope);
        if (!is_function(scope)) continue;
        if (site.functions.empty()) {
            site.is_entry_here = is_written_here && is_entry_of(scope, row.address);
            site.is_moved = is_moved_to(scope, row.file, row.line);
        }
        const char* const name = dwarf_diename(&scope);
        site.functions.push_back({name ? name : "", dwarf_dieoffset(&scope), is_called_here});
    }
    return site;
}

void sort(std::vector<StatementSite>& sites) {
    const auto key = [](const StatementSite& site) {
        return std::tuple(site.address, site.line, site.column);
    };
    std::ranges::stable_sort(sites, {}, key);
    const auto same = [&](const auto& a, const auto& b) {
        return key(a) == key(b) && a.file == b.file;
    };
    sites.erase(std::unique(sites.begin(), sites.end(), same), sites.end());
}

std::vector<Dwarf_Die> function_dies(const DwarfFile& debug, const std::string& function) {
    std::vector<Dwarf_Die> dies;
    for (const std::uint64_t address : debug.addresses_of(function))
        for (Dwarf_Die& scope : debug.scopes_at(address))
            if (dwarf_tag(&scope) == DW_TAG_subprogram) dies.push_back(scope);
    return dies;
}

}  // namespace

std::string SourceLine::str() const {
    return fmt::format("{}:{}", file, line);
}

std::vector<StatementSite> sites_of(const DwarfFile& debug, const SourceLine& line) {
    std::vector<StatementSite> sites;
    for (const Dwarf_Die& unit : units_of(debug, line.file))
        each_statement(unit, [&](const StatementRow& row) {
            if (row.line != line.line || !path_ends_in(row.file, line.file)) return;
            if (auto site = site_at(debug, row)) sites.push_back(std::move(*site));
        });
    sort(sites);
    return sites;
}

unsigned next_line(const DwarfFile& debug, const SourceLine& line) {
    unsigned next = 0;
    for (const Dwarf_Die& unit : units_of(debug, line.file))
        each_statement(unit, [&](const StatementRow& row) {
            const bool is_nearer = row.line > line.line && (next == 0 || row.line < next);
            if (is_nearer && path_ends_in(row.file, line.file)) next = row.line;
        });
    return next;
}

std::vector<StatementSite> sites_of(const DwarfFile& debug, const std::string& function) {
    std::vector<StatementSite> sites;
    for (Dwarf_Die& die : function_dies(debug, function)) {
        Dwarf_Die unit;
        if (!dwarf_diecu(&die, &unit, nullptr, nullptr)) continue;
        each_statement(unit, [&](const StatementRow& row) {
            if (dwarf_haspc(&die, row.address) != 1) return;
            if (auto site = site_at(debug, row)) sites.push_back(std::move(*site));
        });
    }
    sort(sites);
    return sites;
}

std::vector<SourceLine> declarations_of(const DwarfFile& debug, const std::string& function) {
    std::vector<SourceLine> found;
    for (Dwarf_Die& die : function_dies(debug, function)) {
        int line = 0;
        const char* const file = dwarf_decl_file(&die);
        if (!file || dwarf_decl_line(&die, &line) != 0) continue;
        const SourceLine declared{file, static_cast<unsigned>(line)};
        const auto is_known = [&](const SourceLine& one) {
            return one.line == declared.line && is_same_path(one.file, declared.file);
        };
        if (std::ranges::none_of(found, is_known)) found.push_back(declared);
    }
    return found;
}

}  // namespace djprobe::loader
