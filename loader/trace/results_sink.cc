// SPDX-License-Identifier: GPL-2.0
#include "trace/results_sink.h"

#include <algorithm>
#include <utility>

namespace djprobe::loader {
namespace {

// A flame graph is of more stacks than fit a screen.
constexpr std::size_t kReported = 2000;

}  // namespace

ResultsSink::ResultsSink(TableStyle style, std::size_t top, bool prints_between, Report* report)
    : style_(std::move(style)), top_(top), prints_between_(prints_between), report_(report) {}

std::size_t ResultsSink::most() const {
    return report_ ? std::max(top_, kReported) : top_;
}

void ResultsSink::take(std::vector<Result> results, bool is_last, Output& output) {
    if (report_) report_->results(results_json(results, style_), is_last);
    if (!is_last && !prints_between_) return;
    if (results.size() > top_) results.resize(top_);
    output.print(table_text(results, style_));
}

}  // namespace djprobe::loader
