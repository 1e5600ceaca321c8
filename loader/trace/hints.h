// SPDX-License-Identifier: GPL-2.0
// Words that users of other tracers write first, and that no expression has here.
#pragma once

#include <string>
#include <string_view>

#include "trace/translate.h"

namespace djprobe::loader {

/// What to write instead, or "" for a word that is just unknown.
std::string hint_for(std::string_view word, const Scope& scope);

}  // namespace djprobe::loader
