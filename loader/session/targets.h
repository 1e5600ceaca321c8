// SPDX-License-Identifier: GPL-2.0
// Which program goes where: the command line's word, then the sections'.
#pragma once

#include <optional>
#include <vector>

#include "object/object.h"
#include "session/options.h"

namespace djprobe::loader {

/// One thing to attach: one probe fd, whatever the number of its probes.
struct Target {
    Program program;
    SiteSpec site;
    bool at_returns;
    bool by_section = false;         ///< no option has said where
    std::optional<Program> entry{};  ///< of a session: runs first
    /// In front of the program: only djprobe has them.
    std::vector<djprobe_action> conditions{};
};

/// Throws Error(kUsage) where neither the options nor a section name a site, or where they
/// contradict each other.
std::vector<Target> choose_targets(const AttachOptions& options,
                                   const std::vector<Program>& programs);

}  // namespace djprobe::loader
