// SPDX-License-Identifier: GPL-2.0
// The variables of a trace's sites, as names of its expressions and as values in its program.
#pragma once

#include <string>
#include <vector>

#include "trace/trace_site.h"
#include "trace/translate.h"

namespace djprobe::loader {

/// A variable's value at a site.
struct SiteValue {
    std::string text{};                ///< "(struct file *)ctx->di"; "": it has none there
    std::string why{};                 ///< it has none there
    std::vector<std::string> words{};  ///< what is put together of them has no text of its own
    std::vector<std::string> given{};  ///< the registers at the entry that the text has
    bool has_text_symbol = false;
};

/// A variable at each of the sites.
struct SiteVariable {
    std::string name;
    TypeId type = 0;
    bool in_memory = false;  ///< the value is its address: a struct, an array
    std::vector<SiteValue> values;

    [[nodiscard]] bool is_at(std::size_t site) const { return values[site].why.empty(); }
    /// It has a value there without a probe at the entry.
    [[nodiscard]] bool is_at_hand(std::size_t site) const {
        return is_at(site) && values[site].given.empty();
    }

    [[nodiscard]] bool is_anywhere() const;
};

/// Those of all sites, each once.
std::vector<SiteVariable> variables_of(const std::vector<TraceSite>& sites, Types& types);

}  // namespace djprobe::loader
