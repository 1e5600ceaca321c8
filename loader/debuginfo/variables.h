// SPDX-License-Identifier: GPL-2.0
// The variables that are in scope at an instruction, and where their values are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debuginfo/dwarf_file.h"
#include "debuginfo/location.h"
#include "debuginfo/source_type.h"

namespace djprobe::loader {

struct SourceVariable {
    std::string name;
    std::string function;  ///< whose parameter or local it is
    SourceType type;
    Location location;
    /// Where it has no value: the nearest instruction before and behind from which on it has one.
    std::vector<SymbolPlace> elsewhere{};
};

/// The function that an instruction is in, without those that were inlined there.
struct FunctionFrame {
    Location frame;                      ///< where its caller's frame ends, in memory
    std::optional<std::uint64_t> entry;  ///< the function's first byte
};
FunctionFrame frame_at(const DwarfFile& debug, std::uint64_t address);

/// The innermost first; of those of one name only that one. `scope`: without those of what stands
/// within it (StatementSite::scope); 0: all.
std::vector<SourceVariable> variables_at(const DwarfFile& debug, std::uint64_t address,
                                         std::uint64_t scope);

}  // namespace djprobe::loader
