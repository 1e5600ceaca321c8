// SPDX-License-Identifier: GPL-2.0
// A question whose results the detours keep: no program is loaded.
#pragma once

#include <functional>
#include <vector>

#include "djprobe_action.h"
#include "session/numbers_watch.h"
#include "session/options.h"
#include "session/summary.h"
#include "trace/question.h"
#include "trace/results_sink.h"

namespace djprobe::loader {

/// Of `options` what says how long, how often, and in which format. `ended`: takes what there is to
/// tell at the end; `numbers`: them, and histograms. Returns the exit status. Throws Error.
int run_actions(const Question& question, const std::vector<djprobe_action>& actions,
                const AttachOptions& options, ResultsSink& sink,
                const std::function<void(const Summary&, Symbolizer&)>& ended,
                const Numbers& numbers);

}  // namespace djprobe::loader
