// SPDX-License-Identifier: GPL-2.0
// A file with debug information, as it lies on disk: addresses are the file's own.
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debuginfo/symbol_table.h"

namespace djprobe::loader {

/// An address by the symbol that it lies in.
struct SymbolPlace {
    std::string symbol;
    std::uint64_t offset = 0;

    /// "vfs_read+0x2b"
    [[nodiscard]] std::string str() const;
};

class DwarfFile {
  public:
    /// A kernel or a module, with its debug information. Throws Error(kBadFile).
    static DwarfFile open(const std::string& path);

    [[nodiscard]] const std::string& path() const { return path_; }
    /// Of functions of one name the first.
    [[nodiscard]] std::optional<std::uint64_t> address_of(const std::string& symbol) const;
    /// Of all functions of one name.
    [[nodiscard]] std::vector<std::uint64_t> addresses_of(const std::string& symbol) const;
    /// How many symbols have this name.
    [[nodiscard]] std::size_t count_of(const std::string& symbol) const;
    /// Of all symbols that have a size: data, too.
    [[nodiscard]] std::vector<std::string> symbol_names() const { return symbols().names(); }
    [[nodiscard]] std::optional<SymbolPlace> place_of(std::uint64_t address) const;
    /// The same, but where several functions have the name from `_text`, the kernel's first byte. A
    /// module has none: see count_of().
    [[nodiscard]] std::optional<SymbolPlace> unique_place_of(std::uint64_t address) const;

    /// The compilation units, as DWARF has them.
    [[nodiscard]] std::vector<Dwarf_Die> units() const;
    /// The one whose code an address is in.
    [[nodiscard]] std::optional<Dwarf_Die> unit_at(std::uint64_t address) const;
    /// What holds the address in the source, innermost first: blocks, inlined functions, the
    /// function.
    [[nodiscard]] std::vector<Dwarf_Die> scopes_at(std::uint64_t address) const;
    /// By its place in the debug information.
    [[nodiscard]] std::optional<Dwarf_Die> die_at(std::uint64_t offset) const;
    /// It and what holds it.
    [[nodiscard]] std::vector<Dwarf_Die> scopes_of(Dwarf_Die& die) const;
    /// Where the frame of the function is, as an expression. Empty: it is not known.
    [[nodiscard]] std::vector<Dwarf_Op> frame_at(std::uint64_t address) const;

  private:
    struct End {
        void operator()(Dwfl* files) const { dwfl_end(files); }
    };
    DwarfFile(std::string path, std::unique_ptr<Dwfl, End> files, Dwfl_Module* file)
        : path_(std::move(path)), files_(std::move(files)), file_(file) {}

    [[nodiscard]] const SymbolTable& symbols() const;

    std::string path_;
    std::unique_ptr<Dwfl, End> files_;
    Dwfl_Module* file_;
    mutable std::optional<SymbolTable> symbols_;  ///< made for the first question
};

}  // namespace djprobe::loader
