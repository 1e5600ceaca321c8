// SPDX-License-Identifier: GPL-2.0
// How a session shows what its program sends, where that is not as `probeload attach` does.
#pragma once

#include <bpf/btf.h>

#include <functional>
#include <vector>

#include "base/output.h"
#include "events/reader.h"
#include "kernel/symbolizer.h"
#include "session/distribution.h"
#include "session/numbers_watch.h"
#include "session/summary.h"

namespace djprobe::loader {

/// `is_last`: at the end.
using ResultsView = std::function<void(const bpf_object* object, Output& output,
                                       Symbolizer& symbolizer, bool is_last)>;

struct Views {
    /// Makes the printer of all records, from the object's types.
    std::function<PrintRecord(const btf& types)> records{};
    /// Prints what the maps hold, at intervals and at the end.
    ResultsView results{};
    /// Takes all numbers once attached, about each second, and at the end.
    Numbers numbers{};
    /// For these what `results` would print.
    std::function<std::vector<Distribution>(const bpf_object* object, Symbolizer& symbolizer)>
        distributions{};
    /// Takes the summary before it is printed.
    std::function<void(const Summary& summary, Symbolizer& symbolizer)> ended{};
};

}  // namespace djprobe::loader
