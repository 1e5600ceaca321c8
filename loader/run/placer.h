// SPDX-License-Identifier: GPL-2.0
// The way to the module: which requests it takes, and how.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/device.h"
#include "run/head_start.h"
#include "run/kernel_probe.h"
#include "run/options.h"

namespace djprobe::loader {

/// How one place is probed.
struct Way {
    std::uint32_t flags = 0;  ///< of enum djprobe_attach_flags, RETURN and SHADOW
    std::string refused;      ///< why the kernel is to place it; "": djprobe does
};

/// What was placed, or why not.
struct Placed {
    std::optional<Probe> probe;
    std::string refused;                ///< the reason's name
    std::optional<std::size_t> failed;  ///< the target at fault; none: the program or the request
};

class Placer {
  public:
    Placer(const Device& device, const RunOptions& options, const HeadStart& head_start)
        : device_(device), options_(options), head_start_(head_start) {}

    [[nodiscard]] Way choose(const SiteSpec& site, bool at_returns) const;
    /// All or none. `shown_as`: DJPROBE_ATTACH_AS_KPROBE or _AS_MULTI.
    [[nodiscard]] Placed place(const std::vector<MultiTarget>& targets,
                               const std::vector<Way>& ways, const UniqueFd& program,
                               std::uint32_t shown_as) const;

  private:
    [[nodiscard]] Way choose_entry(const SiteSpec& site) const;
    [[nodiscard]] Way choose_return(const SiteSpec& site) const;

    const Device& device_;
    const RunOptions& options_;
    const HeadStart& head_start_;
};

}  // namespace djprobe::loader
