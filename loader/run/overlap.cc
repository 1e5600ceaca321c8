// SPDX-License-Identifier: GPL-2.0
#include "run/overlap.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

namespace djprobe::loader {
namespace {

using Owners = std::vector<std::uint64_t>;

// A tool may have tens of thousands of probes: spans are compared with their neighbours alone.
std::vector<Owners> bundle(std::vector<Span>& spans) {
    std::ranges::sort(spans, {}, &Span::from);
    std::vector<Owners> bundles;
    std::uint64_t end = 0;
    for (const Span& span : spans) {
        if (bundles.empty() || span.from >= end) bundles.emplace_back();
        bundles.back().push_back(span.owner);
        end = std::max(end, span.to);
    }
    return bundles;
}

}  // namespace

std::vector<std::uint64_t> overlapping_owners(std::vector<Span> spans, std::uint64_t first) {
    const std::vector<Owners> bundles = bundle(spans);
    std::map<std::uint64_t, std::vector<std::size_t>> bundles_of;
    for (std::size_t i = 0; i < bundles.size(); ++i)
        for (const std::uint64_t owner : bundles[i])
            bundles_of[owner].push_back(i);
    std::set<std::uint64_t> found = {first};
    std::set<std::size_t> visited;
    for (Owners waiting = {first}; !waiting.empty();) {
        const std::uint64_t owner = waiting.back();
        waiting.pop_back();
        for (const std::size_t i : bundles_of[owner]) {
            if (!visited.insert(i).second) continue;
            for (const std::uint64_t other : bundles[i])
                if (found.insert(other).second) waiting.push_back(other);
        }
    }
    found.erase(first);
    return {found.begin(), found.end()};
}

}  // namespace djprobe::loader
