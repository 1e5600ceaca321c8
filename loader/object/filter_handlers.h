// SPDX-License-Identifier: GPL-2.0
// Puts a filter in front of the programs of what libbpf opens.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "object/filter.h"

namespace djprobe::loader {

/// What stands in front of which program.
struct Filters {
    HitFilter all;
    /// For those in front of which the probe itself has conditions: what these leave over.
    HitFilter rest{};
    std::set<std::string, std::less<>> with_conditions{};  ///< programs, by name

    [[nodiscard]] const HitFilter& of(std::string_view program) const {
        return with_conditions.contains(program) ? rest : all;
    }
};

/// While it lives, libbpf asks us for programs of kernel probes and tracepoints, fentry and fexit,
/// just before it loads them; those of other sections stay as they are. No two at a time.
class FilterHandlers {
  public:
    /// The filters are looked at when a program is loaded, and outlive this.
    explicit FilterHandlers(const Filters& filters);
    FilterHandlers(const FilterHandlers&) = delete;
    FilterHandlers& operator=(const FilterHandlers&) = delete;
    ~FilterHandlers();

  private:
    std::vector<int> handlers_;
};

/// Whether a program of this section gets the filter.
bool is_filtered_section(std::string_view type);

}  // namespace djprobe::loader
