// SPDX-License-Identifier: GPL-2.0
#include "symbols.h"

#include <algorithm>
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
    for (const LiveModule& module : live_modules()) {
        if (module.name == without) continue;
        // Symbols are sorted. Data follows the text, and behind that may lie the module's init
        // text, whose symbols the kernel still lists for a moment after it has loaded the module.
        uint64_t last = 0;
        for (const Symbol& symbol : symbols.symbols()) {
            if (symbol.module != module.name || symbol.address < module.base) continue;
            if (!symbol.is_text()) break;
            last = symbol.address;
        }
        if (last) ranges.push_back({module.base, last / kPage * kPage + kPage, module.name});
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
