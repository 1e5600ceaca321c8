// SPDX-License-Identifier: GPL-2.0
#include "symbols.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace djprobe::vm {
namespace {

constexpr uint64_t kPage = 4096;

}  // namespace

Symbols Symbols::load() {
    Symbols all;
    std::ifstream file("/proc/kallsyms");
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        Symbol symbol;
        char type = 0;
        fields >> std::hex >> symbol.address >> type >> symbol.name >> symbol.module;
        if (symbol.name == "_stext") all.stext_ = symbol.address;
        if (symbol.name == "_etext") all.etext_ = symbol.address;
        if (std::tolower(type) != 't' && std::tolower(type) != 'w') continue;
        // BPF programs and trampolines come and go as "modules" named bpf, __builtin__ftrace, ...
        if (!symbol.module.empty())
            symbol.module = symbol.module.substr(1, symbol.module.size() - 2);
        all.symbols_.push_back(std::move(symbol));
    }
    if (all.stext_ == 0 || all.etext_ == 0)
        throw std::runtime_error("/proc/kallsyms shows no addresses: kptr_restrict? not root?");
    std::ranges::stable_sort(all.symbols_, {}, &Symbol::address);
    return all;
}

std::vector<TextRange> Symbols::text_ranges(std::string_view without) const {
    std::vector<TextRange> ranges{{stext_, etext_, ""}};
    std::map<std::string_view, uint64_t> last_symbol;
    for (const Symbol& symbol : symbols_)
        last_symbol[symbol.module] = symbol.address;

    std::ifstream modules("/proc/modules");
    for (std::string line; std::getline(modules, line);) {
        std::istringstream fields(line);
        std::string name, size, references, users, state;
        uint64_t base = 0;
        fields >> name >> size >> references >> users >> state >> std::hex >> base;
        auto last = last_symbol.find(name);
        if (name == without || state != "Live" || last == last_symbol.end()) continue;
        ranges.push_back({base, last->second / kPage * kPage + kPage, name});
    }
    return ranges;
}

std::string Symbols::describe(uint64_t address) const {
    auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
    if (after == symbols_.begin()) return "?";
    const Symbol& symbol = *std::prev(after);
    std::ostringstream text;
    text << symbol.name << "+0x" << std::hex << address - symbol.address;
    if (!symbol.module.empty()) text << " [" << symbol.module << "]";
    return text.str();
}

}  // namespace djprobe::vm
