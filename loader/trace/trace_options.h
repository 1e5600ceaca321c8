// SPDX-License-Identifier: GPL-2.0
// What `probeload trace` was asked.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "session/options.h"
#include "trace/columns.h"
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

}  // namespace djprobe::loader
