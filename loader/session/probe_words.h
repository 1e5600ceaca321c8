// SPDX-License-Identifier: GPL-2.0
// The parts of a probe's description that text and JSON share.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "session/report.h"

namespace djprobe::loader {

std::string state_name(const ProbeState& probe);
std::string mechanism_name(const ProbeState& probe);
std::string miss_name(std::size_t kind);
/// "MODULE:SYM+0xOFF"
std::string site_name(const ProbeState& probe);

/// The probes with the most hits, at most `top`, none without a hit.
std::vector<const ProbeState*> top_probes(const AttachmentReport& report);
/// Why probes have no jump.
ReasonCounts int3_reasons(const AttachmentReport& report);
/// The most frequent first.
std::vector<std::pair<std::uint32_t, std::size_t>> by_frequency(const ReasonCounts& reasons);

}  // namespace djprobe::loader
