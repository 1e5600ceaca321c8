// SPDX-License-Identifier: GPL-2.0
// The running kernel's symbols, as /proc/kallsyms and /proc/modules show them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace djprobe::vm {

struct Symbol {
    uint64_t address;
    std::string name;
    std::string module;  // "" for the kernel itself
};

/// A stretch of text and whose it is ("" for the kernel itself).
struct TextRange {
    uint64_t start;
    uint64_t end;
    std::string module;
};

class Symbols {
  public:
    /// Reads the text symbols. Throws std::runtime_error where there is nothing to
    /// read or kptr_restrict hides the addresses.
    static Symbols load();

    /// The kernel's [_stext, _etext) and the text of each live module but `without`.
    ///
    /// A module's text begins at its base (the kernel lays text out first) and is
    /// page-aligned; it is taken to end with the page of its last symbol, since no
    /// file tells its size.
    std::vector<TextRange> text_ranges(std::string_view without) const;

    /// "name+0x12" or "name+0x12 [module]", or "?" below the first symbol.
    std::string describe(uint64_t address) const;

  private:
    std::vector<Symbol> symbols_;  // by address
    uint64_t stext_ = 0;
    uint64_t etext_ = 0;
};

}  // namespace djprobe::vm
