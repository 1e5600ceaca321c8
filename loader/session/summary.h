// SPDX-License-Identifier: GPL-2.0
// What a session tells of its probes: when they are attached, and at the end.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/output.h"
#include "decode/format.h"
#include "djprobe.h"
#include "events/loss.h"
#include "events/map_dump.h"
#include "kernel/symbolizer.h"

namespace djprobe::loader {

struct Summary {
    std::string program;
    std::vector<djprobe_query> probes;
    std::uint64_t received = 0;
    std::optional<Loss> loss;  ///< none: the object has no event map
    std::vector<MapEntry> maps;
    std::optional<int> command_status;  ///< as of waitpid()
};

/// "attached vfs_read+0x9 (0xffffffff812c4b19) by jump", or "by int3: " and why.
std::string attached_line(const djprobe_query& probe, Symbolizer& symbolizer);

/// The lines for stderr.
std::string summary_text(const Summary& summary, Symbolizer& symbolizer);
/// The last line of the NDJSON.
nlohmann::ordered_json summary_json(const Summary& summary, Symbolizer& symbolizer);

/// Text to stderr (also where the events are raw), or the JSON object to the output.
void print_summary(const Summary& summary, Format format, Output& output, Symbolizer& symbolizer);

}  // namespace djprobe::loader
