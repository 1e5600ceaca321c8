// SPDX-License-Identifier: GPL-2.0
// Whether the kernel has memory for many probes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace djprobe::loader {

/// Throws Error: so many `things` (functions, blocks) of what the user has named do not fit.
/// `counters`: they only count, which takes less.
void check_site_memory(const std::string& named, std::string_view things, std::size_t sites,
                       bool counters);

}  // namespace djprobe::loader
