// SPDX-License-Identifier: GPL-2.0
// `probeload trace`: a question becomes a program, which runs as `probeload attach` runs it.
#pragma once

#include <filesystem>
#include <optional>

#include "session/numbers_watch.h"
#include "session/options.h"
#include "trace/columns.h"
#include "trace/program.h"
#include "trace/question.h"

namespace djprobe::loader {

struct TraceOptions {
    Question question;
    AttachOptions attach;  ///< how long, which buffers; not the file
    Style style = Style::kColumns;
    std::optional<std::string> by;   ///< the aggregation's keys, unless it counts
    std::optional<std::size_t> top;  ///< so many results are shown (20)
    bool folded = false;
    TimeColumn times = TimeColumn::kBoot;
    bool explain = false;                         ///< say how it would be done, and run nothing
    std::optional<std::filesystem::path> report;  ///< an HTML file of all that came
    std::optional<std::filesystem::path> emit;    ///< write the program there, and run nothing
    std::optional<std::string> debuginfo{};       ///< the file, or the folder that has it
    std::filesystem::path types = "/sys/kernel/btf/vmlinux";
};

/// For the object that the program was compiled to.
AttachOptions attach_options(const TraceOptions& options, const TraceProgram& program,
                             const std::filesystem::path& object);

/// Throws Error(kUsage) for a question that has no numbers for Prometheus: before a port is opened.
void check_trace_metrics(const TraceOptions& options);

/// Returns the exit status. Throws Error. `numbers`: takes them, too, and histograms.
int run_trace(const TraceOptions& options, const Numbers& numbers = {});

}  // namespace djprobe::loader
