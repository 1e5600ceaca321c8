// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/statement_rows.h"

#include <dwarf.h>

#include <algorithm>
#include <string_view>

#include "debuginfo/attributes.h"

namespace djprobe::loader {

void each_statement(Dwarf_Die unit, const std::function<void(const StatementRow&)>& visit) {
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

std::vector<StatementRow> FunctionRows::of(Dwarf_Die& function) {
    std::vector<StatementRow> found;
    Dwarf_Die unit;
    if (!dwarf_diecu(&function, &unit, nullptr, nullptr)) return found;
    if (unit_ != dwarf_dieoffset(&unit)) {
        unit_ = dwarf_dieoffset(&unit);
        rows_.clear();
        each_statement(unit, [&](const StatementRow& row) { rows_.push_back(row); });
        std::ranges::stable_sort(rows_, {}, &StatementRow::address);
    }
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&function, at, &base, &begin, &end)) > 0;) {
        const auto from = std::ranges::lower_bound(rows_, begin, {}, &StatementRow::address);
        const auto to = std::ranges::lower_bound(rows_, end, {}, &StatementRow::address);
        found.insert(found.end(), from, to);
    }
    return found;
}

bool is_function(Dwarf_Die& die) {
    const int tag = dwarf_tag(&die);
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

bool is_written_at(Dwarf_Die& function, const char* file, unsigned line) {
    int written = 0;
    if (dwarf_decl_line(&function, &written) != 0 || static_cast<unsigned>(written) != line)
        return false;
    const char* const in = dwarf_decl_file(&function);
    return in && std::string_view(in) == file;
}

bool is_moved_to(Dwarf_Die& function, const char* file, unsigned line) {
    int first = 0;
    const char* const in = dwarf_decl_file(&function);
    if (!in || dwarf_decl_line(&function, &first) != 0) return false;
    return std::string_view(in) != file || line < static_cast<unsigned>(first);
}

bool is_called_at(Dwarf_Die& scope, const char* file, unsigned line) {
    if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine) return false;
    if (number_of(scope, DW_AT_call_line) != line) return false;
    Dwarf_Die unit;
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    const std::uint64_t number = number_of(scope, DW_AT_call_file);
    if (!dwarf_diecu(&scope, &unit, nullptr, nullptr)) return false;
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || number >= count) return false;
    return std::string_view(dwarf_filesrc(files, number, nullptr, nullptr)) == file;
}

}  // namespace djprobe::loader
