// SPDX-License-Identifier: GPL-2.0
// One run of `probeload attach`, from the file to the summary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "decode/format.h"
#include "djprobe.h"
#include "kernel/site_spec.h"
#include "session/report.h"

namespace djprobe::loader {

/// How returns are found out about.
enum class ReturnMode {
    kAuto,    ///< exact where the function has only returns of its own
    kExact,   ///< probes at them
    kShadow,  ///< the return address is replaced at the entry
};

struct AttachOptions {
    std::filesystem::path file;
    std::vector<SiteSpec> sites;  ///< empty: the sites that the programs' sections name
    std::string program;          ///< empty: the only one; without sites all
    bool at_returns = false;      ///< also where the section does not say so
    std::optional<ReturnMode> return_mode;
    bool session = false;  ///< programs at entry and return of a function belong together
    std::uint64_t cookie = 0;
    djprobe_mode mode = DJPROBE_MODE_AUTO;
    std::optional<double> seconds;
    std::optional<std::string> command;
    Format format = Format::kText;
    std::size_t top = kTopSites;  ///< of a pattern's sites so many are told of
    bool verbose = false;
};

/// Returns the exit status. Throws Error; whatever was attached is then detached.
int run_attach(const AttachOptions& options);

}  // namespace djprobe::loader
