// SPDX-License-Identifier: GPL-2.0
#include "cover/cover_measurement.h"

#include "base/say.h"
#include "blocks/line_listing.h"
#include "blocks/listing.h"
#include "cover/lcov.h"
#include "session/attach_session.h"

namespace djprobe::loader {
namespace {

std::vector<FunctionLines> lines_for(const CoverOptions& options, const ChosenFunctions& chosen,
                                     const StopSignals& stop) {
    if (!options.lines) return {};
    return read_lines(chosen.flows, options.debuginfo, chosen.image, stop);
}

CountingRules rules_of(const CoverOptions& options) {
    return {options.once ? BlocksCounted::kOnce : BlocksCounted::kFewest, options.mode,
            options.tasks};
}

}  // namespace

CoverMeasurement::CoverMeasurement(const CoverOptions& options, Symbolizer& symbolizer,
                                   const StopSignals& stop)
    : symbolizer_(symbolizer),
      device_(open_noted_device()),
      chosen_(choose_functions(options.sites, symbolizer, stop)),
      source_(options.source),
      lines_(lines_for(options, chosen_, stop)),
      counters_(chosen_.flows, rules_of(options), device_, symbolizer, stop) {
    say("{}\n", attached_blocks_line(chosen_, counters_.total()));
    tell_what_is_off(device_);
}

std::vector<FunctionCoverage> CoverMeasurement::look() const {
    return cover(chosen_.flows, counters_.look(), lines_);
}

std::string CoverMeasurement::results(std::size_t /*most*/) {
    return coverage_json(look(), is_stopped_ ? "summary" : "snapshot");
}

std::string CoverMeasurement::table() const {
    return coverage_table(look());
}

std::string CoverMeasurement::annotated() {
    std::string text;
    for (const FunctionCoverage& function : look())
        text += function.source
                    ? line_listing(function.flow->name, *function.source, function.lines, source_)
                    : block_listing(*function.flow, function.counts, symbolizer_);
    return text;
}

std::string CoverMeasurement::lcov() {
    return lcov_text(look(), source_);
}

std::string CoverMeasurement::pcs() const {
    return coverage_pcs(look());
}

void CoverMeasurement::stop() {
    counters_.disable();
    is_stopped_ = true;
}

}  // namespace djprobe::loader
