// SPDX-License-Identifier: GPL-2.0
#include "unit_code.h"

#include <dwarf.h>

#include <algorithm>

#include "debuginfo/statement_rows.h"

namespace djprobe::test {
namespace {

class Walker {
  public:
    explicit Walker(UnitCode& code) : code_(code) {}

    void children(Dwarf_Die& of) {
        Dwarf_Die child;
        for (int more = dwarf_child(&of, &child); more == 0; more = dwarf_siblingof(&child, &child))
            visit(child);
    }

  private:
    void visit(Dwarf_Die& die) {
        const int tag = dwarf_tag(&die);
        const bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
        if (!is_function && tag != DW_TAG_lexical_block) return;
        if (is_function) add(die, tag == DW_TAG_inlined_subroutine);
        children(die);
    }

    void add(Dwarf_Die& die, bool is_inlined) {
        const std::size_t index = code_.instances.size();
        Dwarf_Addr base = 0, begin = 0, end = 0, entry = 0;
        bool has_code = false;
        for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;) {
            if (begin == end) continue;
            has_code = true;
            paint(begin, end, index);
        }
        if (has_code && dwarf_entrypc(&die, &entry) != 0) entry = 0;
        const char* const name = dwarf_diename(&die);
        const char* const file = dwarf_decl_file(&die);
        code_.instances.push_back(
            {name ? name : "", is_inlined, file ? file : "", has_code ? entry : 0});
    }

    // What is inlined comes behind what it is inlined into.
    void paint(std::uint64_t begin, std::uint64_t end, std::size_t index) {
        auto row = std::ranges::lower_bound(code_.rows, begin, {}, &Row::address);
        for (; row != code_.rows.end() && row->address < end; ++row)
            row->instance = index;
    }

    UnitCode& code_;
};

}  // namespace

UnitCode code_of(Dwarf_Die unit) {
    UnitCode code;
    loader::each_statement(unit, [&](const loader::StatementRow& row) {
        code.rows.push_back({row.address, row.file, row.line, row.column, UnitCode::kNone});
    });
    std::ranges::stable_sort(code.rows, {}, &Row::address);
    Walker(code).children(unit);
    return code;
}

std::vector<Dwarf_Die> units_in(const loader::DwarfFile& debug,
                                const std::vector<std::string>& folders) {
    std::vector<Dwarf_Die> units;
    for (Dwarf_Die& unit : debug.units()) {
        const char* const name = dwarf_diename(&unit);
        const auto holds = [&](const std::string& folder) {
            return std::string_view(name).starts_with(folder);
        };
        if (name && (folders.empty() || std::ranges::any_of(folders, holds))) units.push_back(unit);
    }
    return units;
}

}  // namespace djprobe::test
