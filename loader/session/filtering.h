// SPDX-License-Identifier: GPL-2.0
// From the filter's options to what stands in front of the programs.
#pragma once

#include <optional>
#include <vector>

#include "object/filter_handlers.h"
#include "object/program.h"
#include "session/options.h"

namespace djprobe::loader {

/// Made before the object is opened; outlives it.
class Filtering {
  public:
    /// Throws Error for a control group that is none, and where this process cannot know itself.
    explicit Filtering(const FilterOptions& options);

    /// Before the object is loaded. Tells of programs that cannot be filtered.
    void prepare(const bpf_object* object, const std::vector<Program>& others);

  private:
    Exclude exclude_;
    HitFilter filter_;
    UniqueFd cgroups_;
    std::optional<FilterHandlers> handlers_;  // look at filter_
};

}  // namespace djprobe::loader
