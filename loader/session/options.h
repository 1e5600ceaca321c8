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
#include "object/event_type.h"
#include "session/place_option.h"

namespace djprobe::loader {

/// How many sites a summary shows, unless the user asks for more: what fits a screen.
inline constexpr std::size_t kTopSites = 10;

/// Whose hits do not reach the programs.
enum class Exclude {
    kNone,
    kSelf,      ///< this process', and those of who reads its output
    kFeedback,  ///< the same, where their hits would come back as events through a pipe
};

/// Whose hits do. A list that is empty lets all pass.
struct FilterOptions {
    std::vector<std::uint32_t> processes, tasks, users;
    std::vector<std::string> names, cgroups;
    Exclude exclude = Exclude::kNone;
};

/// Who carries the probes.
enum class Backend {
    kAuto,     ///< djprobe; without the module, or where it refuses a site, the kernel
    kDjprobe,  ///< or it is an error
    kKernel,
};

struct AttachOptions {
    std::filesystem::path file;
    std::vector<SiteSpec> sites;        ///< empty: the sites that the programs' sections name
    std::vector<std::string> programs;  ///< empty: all
    std::vector<PlaceOption> places;
    bool others_too = true;            ///< libbpf attaches what djprobe cannot
    bool skip_unsupported = false;     ///< where a part of the object cannot run, the others do
    std::vector<std::string> globals;  ///< NAME=VALUE
    std::vector<std::string> maps;     ///< NAME.max_entries=N, NAME.value_size=N
    FilterOptions filter;
    /// In front of all programs, at sites that djprobe takes and that are no returns.
    std::vector<djprobe_action> conditions{};
    bool at_returns = false;  ///< also where the section does not say so
    std::optional<ReturnMode> return_mode;
    bool session = false;            ///< programs at entry and return of a function belong together
    bool tells_of_no_return = true;  ///< where the program at the entry selects none
    std::uint64_t cookie = 0;
    djprobe_mode mode = DJPROBE_MODE_AUTO;
    Backend backend = Backend::kAuto;
    std::optional<double> seconds;
    std::optional<double> interval;  ///< seconds from one snapshot to the next
    bool clear = false;              ///< after each of them
    std::uint64_t limit = 0;         ///< stop after so many events; 0: never
    std::optional<std::string> command;
    bool exit_status = false;           ///< end with the command's
    bool strict = false;                ///< an incomplete result has an exit status of its own
    std::optional<std::size_t> buffer;  ///< bytes of each buffer for events
    Format format = Format::kText;
    bool folded = false;                       ///< stacks added up, in place of events and maps
    std::vector<EventTypeOption> event_types;  ///< of maps whose records the object has no type for
    std::size_t top = kTopSites;               ///< of a pattern's sites so many are told of
    bool verbose = false;
};

}  // namespace djprobe::loader
