// SPDX-License-Identifier: GPL-2.0
// The symbols of a file with debug information, by name and by address. libdwfl looks at each
// symbol for each question, and a kernel has more than a hundred thousand.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace djprobe::loader {

class SymbolTable {
  public:
    struct Found {
        std::string_view name;  ///< lives as long as the file
        std::uint64_t offset = 0;
    };

    explicit SymbolTable(Dwfl_Module* file);

    /// Of symbols of one name the first that is defined.
    [[nodiscard]] std::optional<std::uint64_t> address_of(std::string_view name) const;
    /// Of all that have a size; where none has one, the first.
    [[nodiscard]] std::vector<std::uint64_t> addresses_of(std::string_view name) const;
    /// How many symbols have this name.
    [[nodiscard]] std::size_t count_of(std::string_view name) const;
    /// Of all that have a size: data, too.
    [[nodiscard]] std::vector<std::string> names() const;
    /// As dwfl_module_addrinfo() finds it: of the symbols that hold the address a global one, of
    /// those the one that begins last. nullopt also where only a symbol without a size comes
    /// before: libdwfl is to be asked then.
    [[nodiscard]] std::optional<Found> find(std::uint64_t address) const;

  private:
    struct Symbol {
        std::uint64_t begin, end;
        std::uint64_t reach;  ///< the greatest end of all symbols up to this one
        std::string_view name;
        unsigned rank;  ///< of symbols at one place the one with the greatest is taken
    };
    struct Named {
        std::size_t count = 0;
        std::optional<std::uint64_t> address;
    };
    using Symbols = std::vector<Symbol>;

    static void sort(Symbols& symbols);
    static std::optional<Found> find_in(const Symbols& symbols, std::uint64_t address);

    std::unordered_map<std::string_view, Named> names_;
    Symbols globals_, locals_;
};

}  // namespace djprobe::loader
