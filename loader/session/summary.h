// SPDX-License-Identifier: GPL-2.0
// What a session tells at its end, and on SIGUSR1.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/output.h"
#include "decode/format.h"
#include "events/loss.h"
#include "events/map_dump.h"
#include "events/variables.h"
#include "kernel/symbolizer.h"
#include "object/program.h"
#include "session/distribution.h"
#include "session/kernel_probes.h"
#include "session/report.h"

namespace djprobe::loader {

struct Summary {
    std::optional<double> seconds;  ///< of a snapshot: since the probes were in
    std::vector<AttachmentReport> attachments;
    std::vector<KernelReport> kernel;  ///< what the kernel's own probes serve
    std::vector<Program> others;       ///< that libbpf has attached
    std::uint64_t received = 0;
    std::optional<Loss> loss;  ///< none: the object has no event map
    std::vector<Variable> variables;
    MapDump maps;
    std::vector<Distribution> distributions;  ///< for metrics; a session shows its own as it likes
    std::optional<int> command_status;        ///< as of waitpid()
};

/// The lines for stderr.
std::string summary_text(const Summary& summary, Symbolizer& symbolizer);
/// The last line of the NDJSON, or a snapshot's.
nlohmann::ordered_json summary_json(const Summary& summary, Symbolizer& symbolizer);

/// Text to stderr (also where the events are raw), or the JSON object to the output.
void print_summary(const Summary& summary, Format format, Output& output, Symbolizer& symbolizer);

}  // namespace djprobe::loader
