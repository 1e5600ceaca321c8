// SPDX-License-Identifier: GPL-2.0
// What there is to tell of one attachment, and how it is told.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "djprobe.h"
#include "kernel/probe_state.h"
#include "kernel/symbolizer.h"
#include "session/options.h"

namespace djprobe::loader {

/// Which places one attachment covers.
enum class Covers {
    kSite,     ///< one instruction
    kReturns,  ///< all returns of one function
    kGlob,     ///< the entries of many functions, or their returns
};

/// How often each reason (enum djprobe_reason) was given.
using ReasonCounts = std::map<std::uint32_t, std::size_t>;

struct AttachmentReport {
    std::string program;
    Covers covers = Covers::kSite;
    bool shadow = false;        ///< kReturns: seen from the entry, which is its only probe
    std::string name;           ///< the function; the pattern
    bool at_returns = false;    ///< kGlob
    std::size_t functions = 0;  ///< kGlob: how many; at their returns each may have several probes
    std::size_t shadows = 0;    ///< kGlob: of these in shadow mode
    std::vector<ProbeState> probes;
    djprobe_total total{};        ///< of all probes
    ReasonCounts left_out;        ///< functions that fit the pattern and were refused
    std::size_t top = kTopSites;  ///< kGlob: so many sites are told of, those with the most hits
};

/// "attached vfs_read+0x9 (0xffffffff812c4b19) by jump", or "by int3: " and why, or ", not in the
/// text: " and why; without the address where the kernel hides it;
/// "attached vfs_read: 3 returns, by jump"; "attached 41 functions like 'vfs_*', by jump";
/// "attached 60 returns of 41 functions like 'vfs_*' (12 in shadow mode), by jump".
std::string attached_line(const AttachmentReport& report, Symbolizer& symbolizer);

/// The lines of the summary ("vfs_read+0x9: hits 3, missed 0, by jump"): of many sites their sums
/// ("vfs_read: 3 returns, hits 9, missed 0, by jump"), and of those by a pattern the `top` with
/// the most hits.
std::string report_text(const AttachmentReport& report, Symbolizer& symbolizer);
nlohmann::ordered_json report_json(const AttachmentReport& report, Symbolizer& symbolizer);

/// One probe: "vfs_read+0x9: hits 3, missed 0, by jump", with " (return)" behind the place where it
/// is one, or " (returns)" where it is the entry from which shadow mode sees them.
std::string probe_line(const ProbeState& probe, Symbolizer& symbolizer);
nlohmann::ordered_json probe_json(const ProbeState& probe, const std::string& program,
                                  Symbolizer& symbolizer);

/// "blacklisted 3, trap-path 1", the most frequent first.
std::string reasons_text(const ReasonCounts& reasons);

}  // namespace djprobe::loader
