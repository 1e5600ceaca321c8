// SPDX-License-Identifier: GPL-2.0
// The code of a compilation unit as its debug information tells it: functions, what was inlined
// into them, and where statements begin. One walk, for tools that look at a whole kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debuginfo/dwarf_file.h"

namespace djprobe::test {

struct Instance {
    std::string function;
    bool is_inlined;
    std::string file;     ///< where it is written
    std::uint64_t entry;  ///< 0: it has no code
};

struct Row {
    std::uint64_t address;
    std::string file;
    unsigned line, column;
    std::size_t instance;  ///< the innermost; where none is known it is kNone
};

struct UnitCode {
    static constexpr std::size_t kNone = SIZE_MAX;
    std::vector<Instance> instances;
    std::vector<Row> rows;  ///< by address
};

UnitCode code_of(Dwarf_Die unit);
/// Those whose file lies in one of the folders ("fs/"); all where there is none.
std::vector<Dwarf_Die> units_in(const loader::DwarfFile& debug,
                                const std::vector<std::string>& folders);

}  // namespace djprobe::test
