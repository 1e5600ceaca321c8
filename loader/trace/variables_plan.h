// SPDX-License-Identifier: GPL-2.0
// The variables of a trace's sites, as names of its expressions and as values in its program.
#pragma once

#include <string>
#include <vector>

#include "trace/trace_site.h"
#include "trace/translate.h"

namespace djprobe::loader {

/// A variable at each of the sites.
struct SiteVariable {
    std::string name;
    TypeId type = 0;
    bool in_memory = false;           ///< the value is its address: a struct, an array
    std::vector<std::string> values;  ///< "(struct file *)ctx->di"; "": it has none there
    std::vector<std::string> why;     ///< it has none there

    [[nodiscard]] bool is_anywhere() const;
};

/// Those of all sites, each once.
std::vector<SiteVariable> variables_of(const std::vector<TraceSite>& sites, Types& types);

}  // namespace djprobe::loader
