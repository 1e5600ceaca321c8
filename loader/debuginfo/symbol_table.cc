// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/symbol_table.h"

#include <algorithm>

namespace djprobe::loader {
namespace {

unsigned rank_of(const GElf_Sym& symbol) {
    switch (GELF_ST_BIND(symbol.st_info)) {
        case STB_GLOBAL:
            return 2;
        case STB_WEAK:
            return 1;
        default:
            return 0;
    }
}

// Of what lies at an address.
bool is_of_code_or_data(const GElf_Sym& symbol) {
    const int type = GELF_ST_TYPE(symbol.st_info);
    return type != STT_SECTION && type != STT_FILE && type != STT_TLS;
}

}  // namespace

SymbolTable::SymbolTable(Dwfl_Module* file) {
    const int count = dwfl_module_getsymtab(file);
    names_.reserve(static_cast<std::size_t>(std::max(count, 0)));
    for (int i = 0; i < count; ++i) {
        GElf_Sym symbol;
        GElf_Addr address = 0;
        const char* const name =
            dwfl_module_getsym_info(file, i, &symbol, &address, nullptr, nullptr, nullptr);
        if (!name) continue;
        const bool is_defined = symbol.st_shndx != SHN_UNDEF;
        Named& named = names_[name];
        ++named.count;
        if (!named.address && is_defined) named.address = address;
        if (!is_defined || !symbol.st_size || !*name || !is_of_code_or_data(symbol)) continue;
        const unsigned rank = rank_of(symbol);
        (rank ? globals_ : locals_).push_back({address, address + symbol.st_size, 0, name, rank});
    }
    sort(globals_);
    sort(locals_);
}

void SymbolTable::sort(Symbols& symbols) {
    std::ranges::stable_sort(symbols, [](const Symbol& a, const Symbol& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.rank < b.rank;
    });
    std::uint64_t reach = 0;
    for (Symbol& symbol : symbols)
        symbol.reach = reach = std::max(reach, symbol.end);
}

std::optional<SymbolTable::Found> SymbolTable::find_in(const Symbols& symbols,
                                                       std::uint64_t address) {
    const auto behind = std::ranges::upper_bound(symbols, address, {}, &Symbol::begin);
    const Symbol* best = nullptr;
    for (auto at = behind; at != symbols.begin();) {
        --at;
        if (at->reach <= address || (best && at->begin != best->begin)) break;
        // Of equals the first is taken.
        if (at->end > address && (!best || at->rank == best->rank)) best = &*at;
    }
    if (!best) return std::nullopt;
    return Found{best->name, address - best->begin};
}

std::optional<std::uint64_t> SymbolTable::address_of(std::string_view name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? std::nullopt : found->second.address;
}

std::vector<std::string> SymbolTable::names() const {
    std::vector<std::string> names;
    names.reserve(globals_.size() + locals_.size());
    for (const Symbols* const symbols : {&globals_, &locals_})
        for (const Symbol& symbol : *symbols)
            names.emplace_back(symbol.name);
    return names;
}

std::vector<std::uint64_t> SymbolTable::addresses_of(std::string_view name) const {
    std::vector<std::uint64_t> addresses;
    for (const Symbols* const symbols : {&globals_, &locals_})
        for (const Symbol& symbol : *symbols)
            if (symbol.name == name) addresses.push_back(symbol.begin);
    if (const auto first = address_of(name); first && addresses.empty()) return {*first};
    return addresses;
}

std::size_t SymbolTable::count_of(std::string_view name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? 0 : found->second.count;
}

std::optional<SymbolTable::Found> SymbolTable::find(std::uint64_t address) const {
    const std::optional<Found> global = find_in(globals_, address);
    return global ? global : find_in(locals_, address);
}

}  // namespace djprobe::loader
