// SPDX-License-Identifier: GPL-2.0
#include "trace/suggest.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/similar_names.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kFew = 8;

}  // namespace

std::string suggest(std::string_view wanted, const std::vector<std::string>& names) {
    if (!names.empty() && names.size() <= kFew)
        return fmt::format("; it has {}", fmt::join(names, ", "));
    std::size_t least = std::clamp<std::size_t>(wanted.size() / 3, 1, 3) + 1;
    std::string_view best;
    for (const std::string& name : names) {
        const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
        const std::size_t distance = edit_distance(wanted, last, least - 1);
        if (distance >= least) continue;
        least = distance;
        best = name;
    }
    return best.empty() ? "" : fmt::format("; did you mean {}?", best);
}

}  // namespace djprobe::loader
