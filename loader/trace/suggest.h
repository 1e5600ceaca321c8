// SPDX-License-Identifier: GPL-2.0
// What may have been meant by a word that is none of those there are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace djprobe::loader {

/// "; did you mean f_path?", or the names where they are few: "; it has file, buf", or "".
/// Of "sk_common.skc_daddr" the last word counts.
std::string suggest(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace djprobe::loader
