// SPDX-License-Identifier: GPL-2.0
#include "count/module_counting.h"

#include <unordered_set>

#include "base/say.h"
#include "session/command.h"

namespace djprobe::loader {
// The counters of one attachment follow those of the one before.
ModuleCounting::ModuleCounting(std::span<const SiteSpec> sites,
                               std::span<const std::vector<djprobe_action>> actions, int map,
                               djprobe_mode mode, const Device& device, Symbolizer& symbolizer,
                               const StopSignals& stop) {
    std::size_t used = 0;
    std::unordered_set<std::uint64_t> known;
    for (std::size_t i = 0; i < sites.size(); ++i) {
        attachments_.push_back(Attachment::attach_counters(sites[i], {map, used, actions[i]}, mode,
                                                           device, symbolizer, stop));
        used += counters_for(sites[i], symbolizer);
        // By its name and by its address it is one place, and each hit would count twice.
        const AttachmentReport last = attachments_.back().report();
        const std::uint64_t address =
            last.covers == Covers::kGlob ? 0 : last.probes.front().address;
        if (address == 0 || known.insert(address).second) continue;
        say("probeload: {} is given twice: attached once\n", sites[i].str());
        attachments_.pop_back();
    }
    for (const Attachment& attachment : attachments_) {
        attachment.wait(stop);
        stop.check();
        say("{}\n", attached_line(attachment.report(), symbolizer));
    }
}

std::vector<AttachmentReport> ModuleCounting::look() const {
    std::vector<AttachmentReport> reports;
    reports.reserve(attachments_.size());
    for (const Attachment& attachment : attachments_)
        reports.push_back(attachment.report());
    return reports;
}

const std::vector<AttachmentReport>& ModuleCounting::stop(Summary& summary,
                                                          Symbolizer& symbolizer) {
    summary.attachments = look();
    for (const Attachment& attachment : attachments_)
        attachment.disable();
    run_out();
    for (std::size_t i = 0; i < attachments_.size(); ++i)
        attachments_[i].complete(summary.attachments[i], symbolizer);
    return summary.attachments;
}

}  // namespace djprobe::loader
