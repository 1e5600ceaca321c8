// SPDX-License-Identifier: GPL-2.0
// Counters that the module's probes keep themselves.
#pragma once

#include <span>

#include "count/counting.h"
#include "djprobe.h"
#include "kernel/site_spec.h"
#include "session/attachment.h"

namespace djprobe::loader {

class ModuleCounting : public Counting {
  public:
    /// `actions`: for each site what a hit does; none: it increments its counter. All refer to what
    /// outlives this. Throws Error; a stop that is requested meanwhile is one, too.
    ModuleCounting(std::span<const SiteSpec> sites,
                   std::span<const std::vector<djprobe_action>> actions, int map, djprobe_mode mode,
                   const Device& device, Symbolizer& symbolizer, const StopSignals& stop);

    [[nodiscard]] std::vector<AttachmentReport> look() const override;
    const std::vector<AttachmentReport>& stop(Summary& summary, Symbolizer& symbolizer) override;

  private:
    std::vector<Attachment> attachments_;
};

}  // namespace djprobe::loader
