// SPDX-License-Identifier: GPL-2.0
// The kernel's symbols: names for addresses in messages, and names like the one that is missing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace djprobe::loader {

struct Symbol {
    std::uint64_t address;
    std::string_view name;
    std::string_view module;  ///< "" for the kernel itself
    char type;                ///< as in nm(1); what lies among the kernel's data is data

    [[nodiscard]] bool is_text() const noexcept {
        return type == 't' || type == 'T' || type == 'w' || type == 'W';
    }
    /// "NAME" or "MODULE:NAME", as the command line takes it.
    [[nodiscard]] std::string qualified_name() const;
};

/// A snapshot of /proc/kallsyms, sorted by address. Symbols view into the table's own text, which
/// copies share.
class Kallsyms {
  public:
    /// Reads a whole file. Throws std::system_error.
    static Kallsyms read(const char* path = "/proc/kallsyms");
    /// Takes a text in /proc/kallsyms' format; lines that do not have it are skipped.
    static Kallsyms parse(std::string text);

    [[nodiscard]] const std::vector<Symbol>& symbols() const noexcept { return table_->symbols; }
    /// The kernel shows none of the addresses (kernel.kptr_restrict, or not root).
    [[nodiscard]] bool are_hidden() const noexcept {
        return !symbols().empty() && symbols().back().address == 0;
    }

    /// "SYM+0xOFF", "MODULE:SYM+0xOFF" or, without a text symbol at or below it, "0xADDRESS".
    [[nodiscard]] std::string describe(std::uint64_t address) const;
    /// The text symbol that an address lies in, or nullptr; of several for one place the first.
    [[nodiscard]] const Symbol* at_or_below(std::uint64_t address) const;
    /// All text symbols of this name ("NAME" or "MODULE:NAME"), by address.
    [[nodiscard]] std::vector<Symbol> find(std::string_view name) const;
    /// True if a symbol of this name exists that is not text.
    [[nodiscard]] bool has_data_symbol(std::string_view name) const;

  private:
    /// As parse(), or the table of the last such text where that is still in use.
    static Kallsyms shared(std::string text);

    struct Table {
        std::string text;
        std::vector<Symbol> symbols;
        // Of each symbol, how many there are up to the last one of text that is not behind it: data
        // may be far from it.
        std::vector<std::uint32_t> text_up_to;
    };
    std::shared_ptr<const Table> table_ = std::make_shared<Table>();
};

}  // namespace djprobe::loader
