// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/whole_functions.h"

#include <dwarf.h>

#include <algorithm>
#include <map>
#include <set>

#include "debuginfo/statement_rows.h"

namespace djprobe::loader {
namespace {

class WholeFunctions {
  public:
    explicit WholeFunctions(const DwarfFile& debug) : debug_(debug) {}

    // The outermost of the functions that the site is in and that its line writes whole. None where
    // it is the head of another function, which they have called.
    const StatementSite::Function* of(const StatementSite& site) {
        if (site.functions.empty()) return nullptr;
        std::optional<Dwarf_Die> innermost = debug_.die_at(site.instance());
        if (innermost && is_written_at(*innermost, site.file.c_str(), site.line) &&
            !is_whole(site.instance(), site))
            return nullptr;
        for (auto function = site.functions.rbegin(); function != site.functions.rend(); ++function)
            if (is_whole(function->instance, site)) return &*function;
        return nullptr;
    }

  private:
    bool is_whole(std::uint64_t function, const StatementSite& site) {
        const auto known = known_.find(function);
        if (known != known_.end()) return known->second;
        return known_[function] = looks_whole(function, site);
    }

    bool looks_whole(std::uint64_t function, const StatementSite& site) {
        std::optional<Dwarf_Die> die = debug_.die_at(function);
        if (!die || !is_written_at(*die, site.file.c_str(), site.line)) return false;
        const Body body = body_of(*die, site);
        if (body == Body::kElsewhere) return false;
        std::set<std::uint64_t> here, elsewhere;
        std::set<unsigned> columns;
        for (const StatementRow& row : rows_.of(*die)) {
            const bool is_here = row.line == site.line && site.file == row.file;
            if (!is_own(*die, row, is_here)) continue;
            (is_here ? here : elsewhere).insert(row.address);
            if (is_here) columns.insert(row.column);
        }
        // A function that a user has written on one line has columns. Of one whose head alone a
        // macro writes, as SYSCALL_DEFINE3() does, most statements are elsewhere. The compiler may
        // have moved some of the caller's into one that is whole.
        return columns.size() == 1 && (body == Body::kHere || here.size() > 2 * elsewhere.size());
    }

    // Where the functions that it calls and its variables are.
    enum class Body { kUnknown, kHere, kElsewhere };
    static Body body_of(Dwarf_Die in, const StatementSite& site) {
        const char* const file = site.file.c_str();
        Body body = Body::kUnknown;
        Dwarf_Die child;
        for (int more = dwarf_child(&in, &child); more == 0;
             more = dwarf_siblingof(&child, &child)) {
            const int tag = dwarf_tag(&child);
            Body found = Body::kUnknown;
            if (tag == DW_TAG_inlined_subroutine)
                found = is_called_at(child, file, site.line) ? Body::kHere : Body::kElsewhere;
            else if (tag == DW_TAG_variable)
                found = is_written_at(child, file, site.line) ? Body::kHere : Body::kElsewhere;
            else if (tag == DW_TAG_lexical_block)
                found = body_of(child, site);
            if (found == Body::kElsewhere) return found;
            if (found == Body::kHere) body = found;
        }
        return body;
    }

    // Whether the row is the function's own statement. What is inlined there has its own, but for
    // functions that are written elsewhere and called here: their code has this line, too.
    static bool is_own(const Dwarf_Die& function, const StatementRow& row, bool is_here) {
        std::vector<Dwarf_Die> functions{function};
        add_functions_at(function, row.address, functions);
        while (functions.size() > 1 && is_here &&
               !is_written_at(functions.back(), row.file, row.line))
            functions.pop_back();
        return functions.size() == 1 &&
               (is_here || !is_moved_to(functions.front(), row.file, row.line));
    }

    // The inlined ones that the address is in, the innermost last.
    static void add_functions_at(Dwarf_Die in, std::uint64_t address,
                                 std::vector<Dwarf_Die>& functions) {
        Dwarf_Die child;
        for (int more = dwarf_child(&in, &child); more == 0;
             more = dwarf_siblingof(&child, &child)) {
            if (dwarf_haspc(&child, address) != 1) continue;
            if (is_function(child)) functions.push_back(child);
            return add_functions_at(child, address, functions);
        }
    }

    const DwarfFile& debug_;
    std::map<std::uint64_t, bool> known_;  ///< by the function's instance
    FunctionRows rows_;
};

// Where a function that holds the site begins.
StatementSite entry_of(const DwarfFile& debug, const StatementSite& site,
                       const StatementSite::Function& function) {
    std::optional<Dwarf_Die> die = debug.die_at(function.instance);
    Dwarf_Addr address = 0;
    if (!die || dwarf_entrypc(&*die, &address) != 0) return site;
    const std::optional<SymbolPlace> place = debug.unique_place_of(address);
    if (!place) return site;
    StatementSite entry = site;
    entry.address = address;
    entry.place = *place;
    entry.scope = function.instance;
    entry.is_begin = true;
    entry.is_moved = false;
    entry.is_entry_here = dwarf_tag(&*die) == DW_TAG_subprogram;
    const auto from = std::ranges::find(site.functions, function);
    entry.functions.assign(from, site.functions.end());
    return entry;
}

}  // namespace

std::vector<StatementSite> with_whole_functions_once(const DwarfFile& debug,
                                                     std::vector<StatementSite> sites) {
    WholeFunctions whole(debug);
    std::vector<StatementSite> kept;
    std::set<std::uint64_t> entered;
    for (StatementSite& site : sites) {
        const StatementSite::Function* const function = whole.of(site);
        if (!function)
            kept.push_back(std::move(site));
        else if (entered.insert(function->instance).second)
            kept.push_back(entry_of(debug, site, *function));
    }
    return kept;
}

}  // namespace djprobe::loader
