// SPDX-License-Identifier: GPL-2.0
// The options of `probeload attach`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "decode/format.h"
#include "djprobe.h"
#include "kernel/return_mode.h"
#include "kernel/site_spec.h"
#include "session/place_option.h"

namespace djprobe::loader {

/// How many sites a summary shows, unless the user asks for more: what fits a screen.
inline constexpr std::size_t kTopSites = 10;

struct AttachOptions {
    std::filesystem::path file;
    std::vector<SiteSpec> sites;        ///< empty: the sites that the programs' sections name
    std::vector<std::string> programs;  ///< empty: all
    std::vector<PlaceOption> places;
    bool others_too = true;            ///< libbpf attaches what djprobe cannot
    bool skip_unsupported = false;     ///< where a part of the object cannot run, the others do
    std::vector<std::string> globals;  ///< NAME=VALUE
    std::vector<std::string> maps;     ///< NAME.max_entries=N, NAME.value_size=N
    bool at_returns = false;           ///< also where the section does not say so
    std::optional<ReturnMode> return_mode;
    bool session = false;            ///< programs at entry and return of a function belong together
    bool tells_of_no_return = true;  ///< where the program at the entry selects none
    std::uint64_t cookie = 0;
    djprobe_mode mode = DJPROBE_MODE_AUTO;
    std::optional<double> seconds;
    std::optional<double> interval;  ///< seconds from one snapshot to the next
    bool clear = false;              ///< after each of them
    std::uint64_t limit = 0;         ///< stop after so many events; 0: never
    std::optional<std::string> command;
    bool exit_status = false;           ///< end with the command's
    bool strict = false;                ///< an incomplete result has an exit status of its own
    std::optional<std::size_t> buffer;  ///< bytes of each buffer for events
    Format format = Format::kText;
    std::optional<std::string> metrics;  ///< "IP:PORT" that serves them
    std::optional<std::filesystem::path> metrics_file;
    std::size_t top = kTopSites;  ///< of a pattern's sites so many are told of
    bool verbose = false;
};

}  // namespace djprobe::loader
