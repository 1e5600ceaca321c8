// SPDX-License-Identifier: GPL-2.0
// From the filter's options to what stands in front of the programs.
#pragma once

#include <optional>
#include <vector>

#include "object/filter_handlers.h"
#include "object/object.h"
#include "session/options.h"
#include "session/targets.h"

namespace djprobe::loader {

/// Made before the object is opened; outlives it.
class Filtering {
  public:
    /// Throws Error for a control group that is none, and where this process cannot know itself.
    explicit Filtering(const FilterOptions& options);

    /// Conditions in front of programs cost less than instructions in them: give those to the
    /// targets that djprobe can attach at one place for each of their probes, as far as conditions
    /// can say it; the programs get the rest. Before prepare().
    void give_conditions(std::vector<Target>& targets, const Object& object, const Device& device);

    /// Before the object is loaded. Tells of programs that cannot be filtered.
    void prepare(const bpf_object* object, const std::vector<Program>& others);

  private:
    Exclude exclude_;
    Filters filters_;
    UniqueFd cgroups_;
    std::optional<FilterHandlers> handlers_;  // look at filters_
};

}  // namespace djprobe::loader
