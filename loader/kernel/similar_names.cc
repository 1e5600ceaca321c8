// SPDX-License-Identifier: GPL-2.0
#include "kernel/similar_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace djprobe::loader {
namespace {

// Names that only the kernel's build makes, and that a probe can never want.
bool is_artificial(std::string_view name) {
    return name.starts_with("__pfx_") || name.starts_with("__cfi_") || name.starts_with(".");
}

// What the kernel's macros and the compiler make of a name: SYSCALL_DEFINE, alloc_hooks(), clones.
bool is_variant(std::string_view name, std::string_view wanted) {
    for (const std::string_view prefix : {"__x64_", "__x64_sys_"})
        if (name.starts_with(prefix) && name.substr(prefix.size()) == wanted) return true;
    if (name.size() <= wanted.size() || !name.starts_with(wanted)) return false;
    const std::string_view suffix = name.substr(wanted.size());
    return suffix == "_noprof" || suffix.starts_with('.');
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
    const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
    if (difference > limit) return limit + 1;

    // Three rows of the usual matrix: a swap looks two rows back.
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> previous(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::swap(before, previous);
        std::swap(previous, row);
        row[0] = i;
        std::size_t smallest = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({previous[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
            smallest = std::min(smallest, row[j]);
        }
        // A swap may still come from the row before, hence the + 1.
        if (smallest > limit + 1) return limit + 1;
    }
    return std::min(row[b.size()], limit + 1);
}

std::vector<std::string> similar_names(const Kallsyms& kallsyms, std::string_view wanted,
                                       std::size_t count) {
    const std::size_t colon = wanted.find(':');
    const std::string_view name = colon == wanted.npos ? wanted : wanted.substr(colon + 1);
    const std::size_t limit = std::clamp<std::size_t>(name.size() / 3, 1, 4);

    std::vector<std::pair<std::size_t, const Symbol*>> candidates;
    for (const Symbol& symbol : kallsyms.symbols()) {
        if (!symbol.is_text() || is_artificial(symbol.name)) continue;
        const std::size_t distance =
            is_variant(symbol.name, name) ? 0 : edit_distance(name, symbol.name, limit);
        if (distance <= limit) candidates.emplace_back(distance, &symbol);
    }
    std::ranges::stable_sort(candidates, [](const auto& a, const auto& b) {
        return std::pair(a.first, a.second->name) < std::pair(b.first, b.second->name);
    });

    std::vector<std::string> names;
    for (const auto& [distance, symbol] : candidates) {
        if (names.size() == count) break;
        std::string candidate = symbol->qualified_name();
        if (candidate != wanted && std::ranges::find(names, candidate) == names.end()) {
            names.push_back(std::move(candidate));
        }
    }
    return names;
}

bool is_data(const Kallsyms& kallsyms, std::string_view name) {
    return kallsyms.has_data_symbol(name) && kallsyms.find(name).empty();
}

std::string hint_at(const Kallsyms& kallsyms, std::string_view wanted) {
    constexpr std::size_t kMost = 3;
    if (wanted.find_first_of("*?[") != wanted.npos) return "";
    if (is_data(kallsyms, wanted)) return "; the symbol is data";
    const std::vector<std::string> names = similar_names(kallsyms, wanted, kMost);
    return names.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(names, ", "));
}

}  // namespace djprobe::loader
