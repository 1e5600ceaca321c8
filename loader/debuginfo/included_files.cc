// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/included_files.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <iterator>
#include <sstream>
#include <string_view>

#include "base/progress.h"
#include "debuginfo/kept_text.h"
#include "debuginfo/source_files.h"

namespace djprobe::loader {
namespace {

constexpr std::string_view kIncludedHead = "probeload included files 1\n";

// "12ab fs/binfmt_elf.c": a unit by its place in the debug information, and the file.
void add_included(Dwarf_Die unit, std::string& text) {
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    const char* const own = dwarf_diename(&unit);
    if (!own || dwarf_getsrcfiles(&unit, &files, &count) != 0) return;
    for (std::size_t i = 1; i < count; ++i) {
        const char* const name = dwarf_filesrc(files, i, nullptr, nullptr);
        if (!name || !std::string_view(name).ends_with(".c") || path_ends_in(name, own)) continue;
        fmt::format_to(std::back_inserter(text), "{:x} {}\n", dwarf_dieoffset(&unit), name);
    }
}

// With a file of its own: what libdw reads of all units stays in memory as long as the file.
std::string included_files(const std::string& path) {
    const DwarfFile debug = DwarfFile::open(path);
    std::string text(kIncludedHead);
    const std::vector<Dwarf_Die> units = debug.units();
    Progress progress("reading the lists of files", units.size());
    for (std::size_t i = 0; i < units.size(); ++i) {
        add_included(units[i], text);
        progress.at(i + 1);
    }
    return text;
}

}  // namespace

std::vector<Dwarf_Die> units_including(const DwarfFile& debug, const std::string& file) {
    std::istringstream lines(kept_text(debug, {".included", std::string(kIncludedHead)},
                                       [&] { return included_files(debug.path()); }));
    std::vector<Dwarf_Die> units;
    std::string line;
    for (std::getline(lines, line); std::getline(lines, line);) {
        std::istringstream words(line);
        std::uint64_t offset = 0;
        std::string name;
        words >> std::hex >> offset >> std::ws;
        std::getline(words, name);
        if (!path_ends_in(name, file)) continue;
        auto unit = debug.die_at(offset);
        if (unit && dwarf_tag(&*unit) == DW_TAG_compile_unit) units.push_back(*unit);
    }
    return units;
}

}  // namespace djprobe::loader
