// SPDX-License-Identifier: GPL-2.0
// A target, attached.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/stop_signals.h"
#include "kernel/device.h"
#include "kernel/place.h"
#include "session/report.h"
#include "session/targets.h"

namespace djprobe::loader {

/// Where counters are: from which one of their map on; see counter_name().
struct Counters {
    int map_fd;
    std::size_t first;
    std::span<const djprobe_action> actions{};  ///< none: a hit increments its counter
    int times_fd = 0;                           ///< see AttachRequest
};

/// Lives until it is destroyed, as its probes do.
class Attachment {
  public:
    /// Throws Error with the module's reason in words. A pattern skips the functions that
    /// are refused, unless all are. A stop that is requested meanwhile is an Error,
    /// too.
    static Attachment attach(const Target& target, const AttachOptions& options,
                             const Device& device, Symbolizer& symbolizer, const StopSignals& stop);

    /// The same with probes that only count, whose counters lie one behind the other.
    static Attachment attach_counters(const SiteSpec& site, const Counters& counters,
                                      djprobe_mode mode, const Device& device,
                                      Symbolizer& symbolizer, const StopSignals& stop);

    /// Actions at one place, at each of a function's returns by itself (exact mode).
    static Attachment attach_actions(const Place& place, const Counters& counters,
                                     djprobe_mode mode, const Device& device,
                                     Symbolizer& symbolizer, const StopSignals& stop);

    /// Sleeps until the optimizer has made up its mind, or until a signal comes.
    void wait(const StopSignals& stop) const { probe_.wait(stop); }
    /// True while the optimizer has yet to decide about some of its probes.
    [[nodiscard]] bool settling() const;
    /// The counters now, summed.
    [[nodiscard]] djprobe_total total() const { return probe_.total(); }
    /// State and counters now; the names of many places are left to complete().
    [[nodiscard]] AttachmentReport report() const;
    /// The same with the names of all, those of many from the symbols.
    [[nodiscard]] AttachmentReport snapshot(Symbolizer& symbolizer) const;
    /// Takes the probes out of the text; the counters can still be asked for. False if the module
    /// cannot now.
    bool disable() const noexcept { return probe_.disable(); }
    /// The counters of a report, anew, and all names. The symbolizer is that of attach().
    void complete(AttachmentReport& report, Symbolizer& symbolizer) const;

  private:
    Attachment(AttachmentReport about, Probe probe);

    AttachmentReport about_;  // what does not change
    Probe probe_;
    // As attached: the module may be unloaded. None of many sites, which take time.
    std::vector<ProbeState> names_;
};

}  // namespace djprobe::loader
