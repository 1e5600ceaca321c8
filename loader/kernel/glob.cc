// SPDX-License-Identifier: GPL-2.0
#include "kernel/glob.h"

#include <fmt/core.h>
#include <fnmatch.h>

namespace djprobe::loader {
namespace {

bool is_function(const Symbol& symbol) {
    if (!symbol.is_text()) return false;
    if (symbol.module == "bpf" || symbol.module.starts_with("__builtin__")) return false;
    return !symbol.name.starts_with("__pfx_") && symbol.name.find(".cold") == symbol.name.npos;
}

}  // namespace

bool names_module(const std::string& pattern) {
    // Not the colon of a class like [:digit:].
    const std::size_t colon = pattern.find(':');
    return colon != pattern.npos && colon > 0 && pattern[colon - 1] != '[';
}

bool is_like(const std::string& pattern, std::string_view module, std::string_view name) {
    // Names are no C strings: they view into the symbol table's text.
    std::string text(name);
    if (names_module(pattern) && !module.empty()) text = std::string(module) + ":" + text;
    return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

std::string missing_module(const Kallsyms& kallsyms, const std::string& pattern) {
    // Without any symbols nothing is known of modules.
    if (!names_module(pattern) || kallsyms.symbols().empty()) return "";
    const std::string module = pattern.substr(0, pattern.find(':'));
    for (const Symbol& symbol : kallsyms.symbols())
        if (!symbol.module.empty() &&
            fnmatch(module.c_str(), std::string(symbol.module).c_str(), 0) == 0)
            return "";
    if (module.find_first_of("*?[") != module.npos)
        return fmt::format("no module is named like '{}'", module);
    const std::string function = pattern.substr(module.size() + 1);
    if (!kallsyms.find(function).empty())
        return fmt::format("no module {} is loaded; did you mean {}?", module,
                           kallsyms.find(function).front().qualified_name());
    return fmt::format("no module {} is loaded: modprobe {}", module, module);
}

std::vector<Symbol> functions_like(const Kallsyms& kallsyms, const std::string& pattern) {
    std::vector<Symbol> found;
    const bool hidden = kallsyms.are_hidden();
    for (const Symbol& symbol : kallsyms.symbols()) {
        if (!is_function(symbol) || (symbol.address == 0 && !hidden)) continue;
        if (!hidden && !found.empty() && found.back().address == symbol.address) continue;
        if (is_like(pattern, symbol.module, symbol.name)) found.push_back(symbol);
    }
    return found;
}

}  // namespace djprobe::loader
