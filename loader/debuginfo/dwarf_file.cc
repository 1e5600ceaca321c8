// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/dwarf_file.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <cstdlib>
#include <span>

#include "base/error.h"
#include "kernel/site_spec.h"

namespace djprobe::loader {
namespace {

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

// The file at hand holds all: libdwfl is not to look for others.
int no_other_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                  GElf_Word, char**) {
    return -1;
}

constexpr Dwfl_Callbacks kCallbacks = {
    .find_elf = nullptr,
    .find_debuginfo = no_other_file,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

std::vector<Dwarf_Die> owned(Dwarf_Die* dies, int count) {
    const std::unique_ptr<Dwarf_Die, Free> freed(dies);
    if (count <= 0) return {};
    return {dies, dies + count};
}

}  // namespace

std::string SymbolPlace::str() const {
    return offset == 0 ? symbol : fmt::format("{}+{:#x}", symbol, offset);
}

DwarfFile DwarfFile::open(const std::string& path) {
    std::unique_ptr<Dwfl, End> files(dwfl_begin(&kCallbacks));
    dwfl_report_begin(files.get());
    Dwfl_Module* const file = dwfl_report_offline(files.get(), path.c_str(), path.c_str(), -1);
    dwfl_report_end(files.get(), nullptr, nullptr);
    Dwarf_Addr bias = 0;
    if (!file || !dwfl_module_getdwarf(file, &bias))
        fail(ExitCode::kBadFile, "{}: no debug information can be read from it: {}", path,
             dwfl_errmsg(-1));
    return {path, std::move(files), file};
}

const SymbolTable& DwarfFile::symbols() const {
    if (!symbols_) symbols_.emplace(file_);
    return *symbols_;
}

std::optional<std::uint64_t> DwarfFile::address_of(const std::string& symbol) const {
    return symbols().address_of(symbol);
}

std::vector<std::uint64_t> DwarfFile::addresses_of(const std::string& symbol) const {
    return symbols().addresses_of(symbol);
}

std::size_t DwarfFile::count_of(const std::string& symbol) const {
    return symbols().count_of(symbol);
}

std::optional<SymbolPlace> DwarfFile::place_of(std::uint64_t address) const {
    if (const auto found = symbols().find(address))
        return SymbolPlace{std::string(found->name), found->offset};
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* const name =
        dwfl_module_addrinfo(file_, address, &offset, &symbol, nullptr, nullptr, nullptr);
    if (!name) return std::nullopt;
    return SymbolPlace{name, offset};
}

std::optional<SymbolPlace> DwarfFile::unique_place_of(std::uint64_t address) const {
    std::optional<SymbolPlace> place = place_of(address);
    if (!place || count_of(place->symbol) < 2) return place;
    const std::string text(kTextSymbol);
    const std::optional<std::uint64_t> first = address_of(text);
    if (!first) return place;
    return SymbolPlace{text, address - *first};
}

std::vector<Dwarf_Die> DwarfFile::units() const {
    std::vector<Dwarf_Die> units;
    Dwarf_Die* unit = nullptr;
    Dwarf_Addr bias = 0;
    while ((unit = dwfl_module_nextcu(file_, unit, &bias)))
        units.push_back(*unit);
    return units;
}

std::optional<Dwarf_Die> DwarfFile::unit_at(std::uint64_t address) const {
    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = dwfl_module_addrdie(file_, address, &bias);
    if (!unit) return std::nullopt;
    return *unit;
}

std::vector<Dwarf_Die> DwarfFile::scopes_at(std::uint64_t address) const {
    std::optional<Dwarf_Die> unit = unit_at(address);
    Dwarf_Die* found = nullptr;
    if (!unit) return {};
    const int count = dwarf_getscopes(&*unit, address, &found);
    std::vector<Dwarf_Die> inner = owned(found, count);
    if (inner.empty()) return {};
    // From an inlined function libdw goes on to where it is written, and not to its caller.
    Dwarf_Die* all = nullptr;
    const int whole = dwarf_getscopes_die(&inner.front(), &all);
    return owned(all, whole);
}

std::optional<Dwarf_Die> DwarfFile::die_at(std::uint64_t offset) const {
    Dwarf_Addr bias = 0;
    Dwarf_Die die;
    if (!dwarf_offdie(dwfl_module_getdwarf(file_, &bias), offset, &die)) return std::nullopt;
    return die;
}

std::vector<Dwarf_Die> DwarfFile::scopes_of(Dwarf_Die& die) const {
    Dwarf_Die* all = nullptr;
    const int count = dwarf_getscopes_die(&die, &all);
    return owned(all, count);
}

std::vector<Dwarf_Op> DwarfFile::frame_at(std::uint64_t address) const {
    Dwarf_Addr bias = 0;
    for (Dwarf_CFI* const table :
         {dwfl_module_dwarf_cfi(file_, &bias), dwfl_module_eh_cfi(file_, &bias)}) {
        Dwarf_Frame* frame = nullptr;
        if (!table || dwarf_cfi_addrframe(table, address - bias, &frame) != 0) continue;
        const std::unique_ptr<Dwarf_Frame, Free> freed(frame);
        Dwarf_Op* ops = nullptr;
        std::size_t count = 0;
        // What the expression lies in is the frame's, and goes with it.
        if (dwarf_frame_cfa(frame, &ops, &count) == 0 && ops) return {ops, ops + count};
    }
    return {};
}

}  // namespace djprobe::loader
