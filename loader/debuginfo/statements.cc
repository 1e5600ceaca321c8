// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/statements.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>

#include "debuginfo/attributes.h"
#include "debuginfo/included_files.h"
#include "debuginfo/source_files.h"

namespace djprobe::loader {
namespace {

struct Row {
    std::uint64_t address;
    const char* file;
    unsigned line, column;
};

using Visit = std::function<void(const Row&)>;

void each_statement(Dwarf_Die unit, const Visit& visit) {
    Dwarf_Lines* lines = nullptr;
    std::size_t count = 0;
    if (dwarf_getsrclines(&unit, &lines, &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
        Dwarf_Line* const line = dwarf_onesrcline(lines, i);
        bool begins = false, ends = false;
        dwarf_linebeginstatement(line, &begins);
        dwarf_lineendsequence(line, &ends);
        if (!begins || ends) continue;
        Dwarf_Addr address = 0;
        int number = 0, column = 0;
        dwarf_lineaddr(line, &address);
        dwarf_lineno(line, &number);
        dwarf_linecol(line, &column);
        const char* const file = dwarf_linesrc(line, nullptr, nullptr);
        if (number && file)
            visit({address, file, static_cast<unsigned>(number), static_cast<unsigned>(column)});
    }
}

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

bool is_function(Dwarf_Die& die) {
    const int tag = dwarf_tag(&die);
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

// Where an inlined function is called from.
bool is_called_at(Dwarf_Die& scope, const Row& row) {
    if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine) return false;
    if (number_of(scope, DW_AT_call_line) != row.line) return false;
    Dwarf_Die unit;
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    const std::uint64_t file = number_of(scope, DW_AT_call_file);
    if (!dwarf_diecu(&scope, &unit, nullptr, nullptr)) return false;
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || file >= count) return false;
    return std::string_view(dwarf_filesrc(files, file, nullptr, nullptr)) == row.file;
}

// SYSCALL_DEFINE3() and the like make several functions, which call one another, on one line.
bool is_written_at(Dwarf_Die& function, const Row& row) {
    int line = 0;
    if (dwarf_decl_line(&function, &line) != 0 || static_cast<unsigned>(line) != row.line)
        return false;
    const char* const file = dwarf_decl_file(&function);
    return file && std::string_view(file) == row.file;
}

// Of a function with code of its own.
bool is_entry_of(Dwarf_Die& function, std::uint64_t address) {
    Dwarf_Addr entry = 0;
    return dwarf_tag(&function) == DW_TAG_subprogram && dwarf_entrypc(&function, &entry) == 0 &&
           entry == address;
}

// What the instruction stands in, the innermost first. Of a line that is a function by itself the
// statement is that function's, whatever has been inlined around the instruction.
std::vector<Dwarf_Die> scopes_of(const DwarfFile& debug, const Row& row) {
    std::vector<Dwarf_Die> scopes = debug.scopes_at(row.address);
    const auto written = std::ranges::find_if(
        scopes, [&](Dwarf_Die& scope) { return is_function(scope) && is_written_at(scope, row); });
    if (written != scopes.end()) scopes.erase(scopes.begin(), written);
    return scopes;
}

std::optional<StatementSite> site_at(const DwarfFile& debug, const Row& row) {
    const std::optional<SymbolPlace> place = debug.unique_place_of(row.address);
    if (!place) return std::nullopt;
    StatementSite site{row.address, *place, row.file, row.line, row.column, {}, 0, 0};
    bool is_called_here = false;  // the function before, from the one that comes
    for (Dwarf_Die& scope : scopes_of(debug, row)) {
        const bool is_written_here = is_function(scope) && is_written_at(scope, row);
        // The call of an inlined function may begin at the instruction at which the function does.
        if (site.functions.empty() && !is_written_here && is_called_at(scope, row)) {
            // What stands in the function that is called is not the statement's.
            site.scope = 0;
            continue;
        }
        if (!site.scope) site.scope = dwarf_dieoffset(&scope);
        if (!is_function(scope)) continue;
        if (site.functions.empty()) {
            site.instance = dwarf_dieoffset(&scope);
            site.is_entry_here = is_written_here && is_entry_of(scope, row.address);
            is_called_here = true;
        } else if (is_called_here) {
            site.callers_here.push_back(dwarf_dieoffset(&scope));
        }
        is_called_here = is_called_here && is_called_at(scope, row);
        const char* const name = dwarf_diename(&scope);
        site.functions.emplace_back(name ? name : "");
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
        each_statement(unit, [&](const Row& row) {
            if (row.line != line.line || !path_ends_in(row.file, line.file)) return;
            if (auto site = site_at(debug, row)) sites.push_back(std::move(*site));
        });
    sort(sites);
    return sites;
}

unsigned next_line(const DwarfFile& debug, const SourceLine& line) {
    unsigned next = 0;
    for (const Dwarf_Die& unit : units_of(debug, line.file))
        each_statement(unit, [&](const Row& row) {
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
        each_statement(unit, [&](const Row& row) {
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
