// SPDX-License-Identifier: GPL-2.0
// What counts for `probeload count`: counters of the module's, or a program at the kernel's own
// probes.
#pragma once

#include <cstddef>
#include <vector>

#include "kernel/site_spec.h"
#include "session/report.h"
#include "session/summary.h"

namespace djprobe::loader {

/// How many counters the sites take: one each, also of the functions that are refused.
std::size_t counters_for(const std::vector<SiteSpec>& sites, Symbolizer& symbolizer);

/// Counts as long as it lives.
class Counting {
  public:
    virtual ~Counting() = default;

    /// All counters now; see Counts. Throws Error.
    [[nodiscard]] virtual std::vector<AttachmentReport> look() const = 0;
    /// Ends it, and adds to the summary how it was done. Returns the last counters, which may be
    /// the summary's own: of many places they are much to copy. Throws Error.
    virtual const std::vector<AttachmentReport>& stop(Summary& summary, Symbolizer& symbolizer) = 0;
};

}  // namespace djprobe::loader
