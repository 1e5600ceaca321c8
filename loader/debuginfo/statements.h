// SPDX-License-Identifier: GPL-2.0
// Where statements of the source begin, by a file with debug information.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debuginfo/dwarf_file.h"

namespace djprobe::loader {

/// An instruction at which a statement begins.
struct StatementSite {
    std::uint64_t address;
    SymbolPlace place;
    std::string file;  ///< as the debug information names it
    unsigned line, column;
    struct Function {
        std::string name;
        std::uint64_t instance;  ///< a number of its own for each copy that was inlined
        bool is_called_here;     ///< on this line, by the next one

        bool operator==(const Function&) const = default;
    };
    /// The function that the statement is of, then those that it was inlined into.
    std::vector<Function> functions;
    std::uint64_t scope;  ///< what the statement stands in, for variables_at()
    /// It is the first instruction of a function that is written on this line.
    bool is_entry_here = false;
    /// A function begins here, as far as the debug information says.
    bool is_begin = false;
    /// Out of a function that was inlined, in front of its other code or behind.
    bool is_moved = false;

    /// That of the function that it is of; 0: none is known.
    [[nodiscard]] std::uint64_t instance() const {
        return functions.empty() ? 0 : functions.front().instance;
    }
    /// The function that has its code; 0: none is known.
    [[nodiscard]] std::uint64_t outermost() const {
        return functions.empty() ? 0 : functions.back().instance;
    }
};

/// What the user may write for a line.
struct SourceLine {
    std::string file;  ///< also the end of its path
    unsigned line = 0;

    [[nodiscard]] std::string str() const;
};

/// Where its statements begin, in the order of addresses. None: no statement begins on it.
std::vector<StatementSite> sites_of(const DwarfFile& debug, const SourceLine& line);
/// The next line of its file on which a statement begins; 0: none, or there is no such file.
unsigned next_line(const DwarfFile& debug, const SourceLine& line);
/// Those of a function, and of each other one of its name, with all that was inlined into them.
/// None: the file does not know it.
std::vector<StatementSite> sites_of(const DwarfFile& debug, const std::string& function);
/// Where the functions of this name are written: one of them may be in the kernel several times.
std::vector<SourceLine> declarations_of(const DwarfFile& debug, const std::string& function);

}  // namespace djprobe::loader
