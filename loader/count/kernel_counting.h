// SPDX-License-Identifier: GPL-2.0
// Counts without the module: a program at the kernel's own probes.
#pragma once

#include <linux/types.h>

#include <memory>
#include <string>
#include <vector>

#include "count/bpf/calls.h"  // the skeleton uses its types
#include "count/counting.h"
#include "kernel/site_spec.h"
#include "kernel/task_filter.h"
#include "session/kernel_probes.h"

struct calls;

namespace djprobe::loader {

class KernelCounting : public Counting {
  public:
    /// Attaches, and says so. Throws Error, also where a stop is requested meanwhile.
    KernelCounting(const std::vector<SiteSpec>& sites, const TaskFilter& tasks,
                   Symbolizer& symbolizer, const StopSignals& stop);

    [[nodiscard]] std::vector<AttachmentReport> look() const override;
    const std::vector<AttachmentReport>& stop(Summary& summary, Symbolizer& symbolizer) override;

  private:
    struct Close {
        void operator()(calls* object) const;
    };

    void load(const std::vector<SiteSpec>& sites, const TaskFilter& tasks, std::size_t counters);
    void attach(const SiteSpec& site, Symbolizer& symbolizer);
    [[nodiscard]] std::vector<std::uint64_t> read() const;

    std::unique_ptr<calls, Close> object_;
    std::vector<AttachmentReport> places_;  // a counter each, in the order of the cookies
    std::vector<AttachmentReport> last_;    // what stop() has read
    std::size_t used_ = 0;
    KernelProbes probes_;  // before its programs are gone
};

}  // namespace djprobe::loader
