// SPDX-License-Identifier: GPL-2.0
// The rows of a unit's line table at which statements begin, and what functions have to do with
// them.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace djprobe::loader {

/// The file's name is the debug information's, which holds it.
struct StatementRow {
    std::uint64_t address;
    const char* file;
    unsigned line, column;
};

void each_statement(Dwarf_Die unit, const std::function<void(const StatementRow&)>& visit);

/// Those of functions. It keeps the unit that was read last.
class FunctionRows {
  public:
    /// By address, what is inlined there with them.
    std::vector<StatementRow> of(Dwarf_Die& function);

  private:
    std::uint64_t unit_ = UINT64_MAX;  // by its place in the debug information
    std::vector<StatementRow> rows_;   // of the unit, by address
};

/// With code of its own, or inlined.
bool is_function(Dwarf_Die& die);
/// Is its head on this line?
bool is_written_at(Dwarf_Die& function, const char* file, unsigned line);
/// It is not written within the function that has its instruction: the compiler has moved it out of
/// one that was inlined.
bool is_moved_to(Dwarf_Die& function, const char* file, unsigned line);
/// Is it an inlined function that is called on this line?
bool is_called_at(Dwarf_Die& scope, const char* file, unsigned line);

}  // namespace djprobe::loader
