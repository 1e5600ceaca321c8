// SPDX-License-Identifier: GPL-2.0
#include "symbols.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace djprobe::vm {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t kernel_address(const Kallsyms& symbols, std::string_view name) {
    for (const Symbol& symbol : symbols.find(name))
        if (symbol.module.empty() && symbol.address != 0) return symbol.address;
    throw std::runtime_error("/proc/kallsyms shows no addresses: kptr_restrict? not root?");
}

}  // namespace

std::vector<TextRange> text_ranges(const Kallsyms& symbols, std::string_view without) {
    std::vector<TextRange> ranges{
        {kernel_address(symbols, "_stext"), kernel_address(symbols, "_etext"), ""}};
    std::map<std::string_view, uint64_t> last_symbol;
    for (const Symbol& symbol : symbols.symbols())
        if (!symbol.module.empty() && symbol.is_text()) last_symbol[symbol.module] = symbol.address;
    for (const LiveModule& module : live_modules()) {
        const auto last = last_symbol.find(module.name);
        if (module.name == without || last == last_symbol.end()) continue;
        ranges.push_back({module.base, last->second / kPage * kPage + kPage, module.name});
    }
    return ranges;
}

std::vector<uint64_t> kernel_functions(const Kallsyms& symbols) {
    std::vector<uint64_t> functions;
    for (const Symbol& symbol : symbols.symbols())
        if (symbol.module.empty() && symbol.is_text() &&
            (functions.empty() || functions.back() != symbol.address))
            functions.push_back(symbol.address);
    return functions;
}

}  // namespace djprobe::vm
