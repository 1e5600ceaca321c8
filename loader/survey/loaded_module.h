// SPDX-License-Identifier: GPL-2.0
// Where the parts of a loaded module lie. The kernel tells where each section begins (in
// /sys/module/NAME/sections), and not how long it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../arch/x86/insn/types.h"

namespace djprobe::loader {

struct LoadedModule {
    /// From its first byte up to what lies behind it, or further: what lies behind a table's end
    /// leads nowhere.
    struct Section {
        std::string name;
        Range range;
    };

    std::string name;
    Range text;                     ///< whole pages, or more: where they end shows their contents
    std::vector<Section> sections;  ///< by address; what was freed after init is left out

    /// Empty when there is none of that name.
    [[nodiscard]] Range section(std::string_view wanted) const;

    /// The memory that holds the constants, tables that are never written included.
    [[nodiscard]] std::vector<Range> constants() const;
};

/// One whose text begins at `base`, whose sections begin where `begins` says, and that has `size`
/// bytes in all. Nothing when it has no text there.
std::optional<LoadedModule> lay_out_module(std::string name, std::uint64_t base, std::uint64_t size,
                                           std::vector<LoadedModule::Section> begins);

/// All modules that are loaded now and can be probed: not ours.
std::vector<LoadedModule> loaded_modules();

}  // namespace djprobe::loader
