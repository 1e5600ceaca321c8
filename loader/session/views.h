// SPDX-License-Identifier: GPL-2.0
// How a session shows what its program sends, where that is not as `probeload attach` does.
#pragma once

#include <bpf/btf.h>

#include <functional>

#include "base/output.h"
#include "events/reader.h"
#include "kernel/symbolizer.h"
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
    std::function<void(const Summary& summary)> numbers{};
    /// Takes the summary before it is printed.
    std::function<void(const Summary& summary, Symbolizer& symbolizer)> ended{};
};

}  // namespace djprobe::loader
