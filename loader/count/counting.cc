// SPDX-License-Identifier: GPL-2.0
#include "count/counting.h"

#include "kernel/glob.h"

namespace djprobe::loader {
namespace {

// A function that is refused has one, too.
std::size_t counters_for(const SiteSpec& site, Symbolizer& symbolizer) {
    return site.is_glob() ? functions_like(symbolizer.kallsyms(), site.symbol).size() : 1;
}

}  // namespace

std::size_t counters_for(const std::vector<SiteSpec>& sites, Symbolizer& symbolizer) {
    std::size_t counters = 0;
    for (const SiteSpec& site : sites)
        counters += counters_for(site, symbolizer);
    return counters;
}

}  // namespace djprobe::loader
