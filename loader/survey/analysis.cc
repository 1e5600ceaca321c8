// SPDX-License-Identifier: GPL-2.0
#include "survey/analysis.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "kernel/glob.h"

namespace djprobe::loader {
namespace {

constexpr std::string_view kCold = ".cold";

// From a symbol up to the next one.
Range range_of(const Kallsyms& kallsyms, std::uint64_t address) {
    const auto& symbols = kallsyms.symbols();
    const auto next = std::ranges::upper_bound(symbols, address, {}, &Symbol::address);
    return {address, next == symbols.end() ? address + 1 : next->address};
}

using RangesByModule = std::map<std::string, std::vector<Range>, std::less<>>;

// What the survey takes for functions: also parts that lie elsewhere.
RangesByModule ranges_like(const Kallsyms& kallsyms, const std::string& pattern) {
    std::map<std::string, std::vector<Symbol>, std::less<>> found;
    for (const Symbol& symbol : kallsyms.symbols())
        if (symbol.is_text() && is_like(pattern, symbol.module, symbol.name))
            found[std::string(symbol.module)].push_back(symbol);
    RangesByModule ranges;
    for (const auto& [module, functions] : found)
        ranges[module] = ranges_of(kallsyms, functions);
    return ranges;
}

}  // namespace

std::vector<Range> ranges_of(const Kallsyms& kallsyms, const std::vector<Symbol>& functions) {
    std::vector<Range> ranges;
    std::unordered_set<std::string> parts;
    for (const Symbol& function : functions) {
        ranges.push_back(range_of(kallsyms, function.address));
        parts.insert(function.qualified_name() + std::string(kCold));
    }
    for (const Symbol& symbol : kallsyms.symbols())
        if (symbol.name.ends_with(kCold) && parts.contains(symbol.qualified_name()))
            ranges.push_back(range_of(kallsyms, symbol.address));
    return ranges;
}

std::list<Analysis> analyse(KernelImage& image, const std::optional<std::string>& wanted) {
    std::list<Analysis> texts;
    RangesByModule focus;
    if (wanted) focus = ranges_like(image.symbols(), *wanted);
    if (wanted && focus.empty()) return texts;
    const auto is_wanted = [&](const std::string& module) {
        return !wanted || focus.contains(module);
    };
    const TextFacts facts = read_facts(image);
    if (is_wanted("")) texts.emplace_back(image, facts, focus[""]);
    if (!image.is_live()) return texts;
    for (LoadedModule& module : loaded_modules())
        if (is_wanted(module.name) && image.add(module, running_module_struct()))
            texts.emplace_back(image, read_module_facts(image, module, facts), focus[module.name]);
    return texts;
}

std::list<Analysis> analyse_near(KernelImage& image, std::string_view module,
                                 std::vector<Range> focus, const StopSignals* stop) {
    std::list<Analysis> texts;
    TextFacts facts = read_facts(image);
    if (module.empty()) {
        texts.emplace_back(image, std::move(facts), std::move(focus), stop);
        return texts;
    }
    for (LoadedModule& loaded : loaded_modules())
        if (loaded.name == module && image.add(loaded, running_module_struct()))
            texts.emplace_back(image, read_module_facts(image, loaded, facts), focus, stop);
    return texts;
}

}  // namespace djprobe::loader
