// SPDX-License-Identifier: GPL-2.0
// Puts a filter in front of the programs of what libbpf opens.
#pragma once

#include <string_view>
#include <vector>

#include "object/filter.h"

namespace djprobe::loader {

/// While it lives, libbpf asks us for programs of kernel probes and tracepoints, fentry and fexit,
/// just before it loads them; those of other sections stay as they are. No two at a time.
class FilterHandlers {
  public:
    /// The filter is looked at when a program is loaded, and outlives this.
    explicit FilterHandlers(const HitFilter& filter);
    FilterHandlers(const FilterHandlers&) = delete;
    FilterHandlers& operator=(const FilterHandlers&) = delete;
    ~FilterHandlers();

  private:
    std::vector<int> handlers_;
};

/// Whether a program of this section gets the filter.
bool is_filtered_section(std::string_view type);

}  // namespace djprobe::loader
