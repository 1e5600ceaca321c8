// SPDX-License-Identifier: GPL-2.0
#include "kernel/glob.h"

#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/error.h"
#include "kernel/similar_names.h"

namespace djprobe::loader {
namespace {

bool is_function(const Symbol& symbol) {
    if (!symbol.is_text()) return false;
    if (symbol.module == "bpf" || symbol.module.starts_with("__builtin__")) return false;
    return !symbol.name.starts_with("__pfx_") && symbol.name.find(".cold") == symbol.name.npos;
}

// "kprobe:vfs_read", "vfs_read:exit": as bpftrace and perf write places.
bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

std::string foreign_place(const Kallsyms& kallsyms, const std::string& first,
                          const std::string& second) {
    const auto advice = [](std::string_view function, bool returns) {
        if (!returns) return fmt::format("write {}", function);
        return fmt::format("for its returns: probeload trace {}:return", function);
    };
    if (is_one_of(first, {"kprobe", "k", "p", "fentry", "kfunc"}))
        return fmt::format("'{}' is no module: {}", first, advice(second, false));
    if (is_one_of(first, {"kretprobe", "kr", "r", "fexit", "kretfunc"}))
        return fmt::format("'{}' is no module: {}", first, advice(second, true));
    const bool returns = is_one_of(second, {"return", "ret", "exit", "retval"});
    if ((!returns && second != "entry") || kallsyms.find(first).empty()) return "";
    return fmt::format("{} is a function, and no module: {}", first, advice(first, returns));
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
    std::string written = module;
    std::ranges::replace(written, '-', '_');
    if (written != module && module.find_first_of("*?[") == module.npos)
        return fmt::format("no module is named {}: the kernel writes {}", module, written);
    if (module.find_first_of("*?[") != module.npos)
        return fmt::format("no module is named like '{}'", module);
    const std::string function = pattern.substr(module.size() + 1);
    if (std::string meant = foreign_place(kallsyms, module, function); !meant.empty()) return meant;
    if (!kallsyms.find(function).empty())
        return fmt::format("no module {} is loaded; did you mean {}?", module,
                           kallsyms.find(function).front().qualified_name());
    return fmt::format("no module {} is loaded: modprobe {}", module, module);
}

void fail_none_like(const Kallsyms& kallsyms, const std::string& pattern) {
    const std::string module = missing_module(kallsyms, pattern);
    if (!module.empty()) fail(ExitCode::kNoSuchSite, "'{}': {}", pattern, module);
    const std::size_t open = pattern.find('[');
    const bool unended = open != pattern.npos && pattern.find(']', open) == pattern.npos;
    fail(ExitCode::kNoSuchSite, "no function is named like '{}'{}", pattern,
         unended ? ": no ']' ends its '['" : hint_at(kallsyms, pattern));
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
