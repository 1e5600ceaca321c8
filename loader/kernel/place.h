// SPDX-License-Identifier: GPL-2.0
// A place where a program runs, as the user writes it: "FUNC", "FUNC+OFF" or "FUNC:return".
#pragma once

#include <string>
#include <string_view>

#include "kernel/site_spec.h"

namespace djprobe::loader {

struct Place {
    SiteSpec site;
    bool at_returns = false;  ///< all returns of the function

    bool operator==(const Place&) const = default;
    /// As the user would write it.
    [[nodiscard]] std::string str() const;
};

/// Throws Error(kUsage). What stands before ":return" may have an offset or be a pattern: the
/// caller decides.
Place parse_place(std::string_view text);

}  // namespace djprobe::loader
