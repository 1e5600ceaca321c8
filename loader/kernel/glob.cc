// SPDX-License-Identifier: GPL-2.0
#include "kernel/glob.h"

#include <fnmatch.h>

namespace djprobe::loader {
namespace {

bool is_function(const Symbol& symbol) {
    if (!symbol.is_text() || symbol.address == 0) return false;
    if (symbol.module == "bpf" || symbol.module.starts_with("__builtin__")) return false;
    return !symbol.name.starts_with("__pfx_") && symbol.name.find(".cold") == symbol.name.npos;
}

}  // namespace

std::vector<Symbol> functions_like(const Kallsyms& kallsyms, const std::string& pattern) {
    // Not the colon of a class like [:digit:].
    const std::size_t colon = pattern.find(':');
    const bool names_module = colon != pattern.npos && colon > 0 && pattern[colon - 1] != '[';
    std::vector<Symbol> found;
    for (const Symbol& symbol : kallsyms.symbols()) {
        if (!is_function(symbol)) continue;
        if (!found.empty() && found.back().address == symbol.address) continue;
        const std::string name = names_module ? symbol.qualified_name() : std::string(symbol.name);
        if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) found.push_back(symbol);
    }
    return found;
}

}  // namespace djprobe::loader
