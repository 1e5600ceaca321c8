// SPDX-License-Identifier: GPL-2.0
// Which hits count: comparisons of a site's registers with numbers.
#pragma once

#include <string_view>
#include <vector>

#include "count/operand.h"
#include "djprobe_action.h"

namespace djprobe::loader {

/// An action about the operand; `counter` is where its counters begin, in bytes.
djprobe_action action_of(djprobe_action_operation operation, const Operand& operand);

/// At most so many in one list.
inline constexpr std::size_t kMostConditions = 7;

/// "count > 4096 && edx == 0x10 && arg3 != -1": all must hold. A negative number makes its
/// comparison one by sign. Throws Error(kUsage).
std::vector<djprobe_action> parse_conditions(std::string_view text, const SiteSpec& site,
                                             Prototypes& prototypes);

}  // namespace djprobe::loader
