// SPDX-License-Identifier: GPL-2.0
// All of an object that is attached.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "object/object.h"
#include "session/attachment.h"
#include "session/kernel_probes.h"
#include "session/others.h"
#include "session/session_watch.h"

namespace djprobe::loader {

/// Attaches the targets and then, by libbpf, the other programs; all lives until it is destroyed.
class Running {
  public:
    /// Throws Error. With --skip-unsupported what has no place, or one that is refused, is told and
    /// left out, unless it is all. Without a device the kernel's own probes serve all targets.
    Running(const AttachOptions& options, const std::vector<Target>& targets,
            const std::vector<Program>& others, const Device* device, Symbolizer& symbolizer,
            const StopSignals& stop);

    [[nodiscard]] const std::vector<Attachment>& attachments() const { return attachments_; }
    [[nodiscard]] const std::vector<OtherProgram>& others() const { return others_; }
    [[nodiscard]] const KernelProbes& kernel() const { return kernel_; }
    SessionWatch& sessions() { return sessions_; }
    /// State and counters now, with all names.
    [[nodiscard]] std::vector<AttachmentReport> snapshot(Symbolizer& symbolizer) const;
    /// Until no program runs any more: counters and records are of one moment.
    std::vector<AttachmentReport> stop(Symbolizer& symbolizer);
    /// Gives the probes back.
    void detach() { attachments_.clear(); }

  private:
    void attach(const Target& target, const AttachOptions& options, const Device* device,
                Symbolizer& symbolizer, const StopSignals& stop);
    void attach_by_djprobe(const Target& target, const AttachOptions& options, const Device& device,
                           Symbolizer& symbolizer, const StopSignals& stop);
    void attach_instead(const Error& why, const Target& target, const AttachOptions& options,
                        Symbolizer& symbolizer);

    std::vector<Attachment> attachments_;
    // What each is, by its program and its first instruction.
    std::set<std::tuple<std::string, Covers, std::uint64_t>> known_;
    KernelProbes kernel_;
    std::vector<OtherProgram> others_;
    SessionWatch sessions_;  // looks at attachments
};

}  // namespace djprobe::loader
