// SPDX-License-Identifier: GPL-2.0
#include "kernel/kallsyms.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"

namespace djprobe::loader {
namespace {

// A line is "ADDRESS TYPE NAME" with "\t[MODULE]" behind it for a module's symbol.
std::optional<Symbol> parse_line(std::string_view line) {
    Symbol symbol{};
    const char* const end = line.data() + line.size();
    const auto [after, error] = std::from_chars(line.data(), end, symbol.address, 16);
    if (error != std::errc{} || end - after < 4 || after[0] != ' ' || after[2] != ' ') {
        return std::nullopt;
    }
    symbol.type = after[1];
    std::string_view rest(after + 3, static_cast<std::size_t>(end - (after + 3)));
    const std::size_t tab = rest.find('\t');
    symbol.name = rest.substr(0, tab);
    if (tab != rest.npos) {
        rest.remove_prefix(tab + 1);
        if (rest.size() < 3 || rest.front() != '[' || rest.back() != ']') return std::nullopt;
        symbol.module = rest.substr(1, rest.size() - 2);
    }
    return symbol;
}

// Where kexec's code is linked among the data, nm takes all of these for code, and so do the
// symbols. They are sorted by address.
void retype_data(std::vector<Symbol>& symbols) {
    const auto place = [&](std::string_view name) {
        const auto found = std::ranges::find_if(symbols, [&](const Symbol& symbol) {
            return symbol.module.empty() && symbol.name == name;
        });
        return found == symbols.end() ? 0 : found->address;
    };
    const std::uint64_t begin = place("_sdata"), end = place("_edata");
    if (begin == 0) return;
    const auto first = std::ranges::lower_bound(symbols, begin, {}, &Symbol::address);
    for (auto symbol = first; symbol != symbols.end() && symbol->address < end; ++symbol)
        if (symbol->is_text())
            symbol->type = symbol->type == 't' || symbol->type == 'w' ? 'd' : 'D';
}

// Stable: where several names have one address, the kernel means the first one. The kernel lists
// its own in that order, which are most.
void sort_by_address(std::vector<Symbol>& symbols) {
    const auto others = std::ranges::is_sorted_until(symbols, {}, &Symbol::address);
    std::ranges::stable_sort(others, symbols.end(), {}, &Symbol::address);
    std::ranges::inplace_merge(symbols, others, {}, &Symbol::address);
}

// A name without a module matches in every module, as the kernel's own lookup does.
bool matches(const Symbol& symbol, std::string_view name) {
    const std::size_t colon = name.find(':');
    if (colon == name.npos) return symbol.name == name;
    return symbol.module == name.substr(0, colon) && symbol.name == name.substr(colon + 1);
}

}  // namespace

std::string Symbol::qualified_name() const {
    return module.empty() ? std::string(name) : fmt::format("{}:{}", module, name);
}

Kallsyms Kallsyms::read(const char* path) {
    const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
    if (!fd) throw std::system_error(errno, std::generic_category(), path);
    // More than any has yet. What is not used of it costs nothing; a larger one later is a copy.
    constexpr std::size_t kRoom = 32 << 20, kMore = 1 << 20, kLeast = 64 << 10;
    std::string text;
    text.reserve(kRoom);
    std::size_t used = 0;
    for (;;) {
        if (text.size() - used < kLeast) text.resize(used + kMore);
        const ssize_t got = ::read(fd.get(), text.data() + used, text.size() - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw std::system_error(errno, std::generic_category(), path);
        if (got == 0) break;
        used += static_cast<std::size_t>(got);
    }
    text.resize(used);
    return shared(std::move(text));
}

// Each of many that a process needs at once would take thirty megabytes, and most are alike.
Kallsyms Kallsyms::shared(std::string text) {
    static std::mutex lock;
    static std::weak_ptr<const Table> last;
    const std::lock_guard guard(lock);
    Kallsyms known;
    if (const auto table = last.lock(); table && table->text == text)
        known.table_ = table;
    else
        last = (known = parse(std::move(text))).table_;
    return known;
}

Kallsyms Kallsyms::parse(std::string text) {
    const auto table = std::make_shared<Table>();
    table->text = std::move(text);
    std::string_view rest = table->text;
    table->symbols.reserve(rest.size() / 40);
    while (!rest.empty()) {
        const std::size_t newline = rest.find('\n');
        if (const auto symbol = parse_line(rest.substr(0, newline))) {
            table->symbols.push_back(*symbol);
        }
        rest.remove_prefix(newline == rest.npos ? rest.size() : newline + 1);
    }
    sort_by_address(table->symbols);
    retype_data(table->symbols);
    table->text_up_to.reserve(table->symbols.size());
    std::uint32_t last = 0;
    for (const Symbol& symbol : table->symbols) {
        if (symbol.is_text() && symbol.address != 0)
            last = static_cast<std::uint32_t>(table->text_up_to.size() + 1);
        table->text_up_to.push_back(last);
    }
    Kallsyms kallsyms;
    kallsyms.table_ = table;
    return kallsyms;
}

const Symbol* Kallsyms::at_or_below(std::uint64_t address) const {
    const auto above = std::ranges::upper_bound(symbols(), address, {}, &Symbol::address);
    if (above == symbols().begin()) return nullptr;
    std::size_t at = table_->text_up_to[static_cast<std::size_t>(above - symbols().begin() - 1)];
    if (!at) return nullptr;
    const Symbol* best = &symbols()[--at];
    while (at-- && symbols()[at].address == best->address)
        if (symbols()[at].is_text()) best = &symbols()[at];
    return best;
}

std::string Kallsyms::describe(std::uint64_t address) const {
    const Symbol* const symbol = at_or_below(address);
    return symbol ? fmt::format("{}+{:#x}", symbol->qualified_name(), address - symbol->address)
                  : fmt::format("{:#x}", address);
}

std::vector<Symbol> Kallsyms::find(std::string_view name) const {
    std::vector<Symbol> found;
    for (const Symbol& symbol : symbols()) {
        if (symbol.is_text() && matches(symbol, name)) found.push_back(symbol);
    }
    return found;
}

bool Kallsyms::has_data_symbol(std::string_view name) const {
    return std::ranges::any_of(symbols(), [&](const Symbol& symbol) {
        return !symbol.is_text() && matches(symbol, name);
    });
}

}  // namespace djprobe::loader
