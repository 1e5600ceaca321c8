// SPDX-License-Identifier: GPL-2.0
#include "blocks/block_measurement.h"

#include "base/plural.h"
#include "base/say.h"
#include "blocks/line_listing.h"
#include "blocks/listing.h"
#include "session/attach_session.h"

namespace djprobe::loader {
namespace {

class InsnView : public BlockView {
  public:
    InsnView(const std::vector<FunctionFlow>& functions, Symbolizer& symbolizer)
        : functions_(functions), symbolizer_(symbolizer) {}
    std::string text(std::size_t function, const BlockCounts& counts) override {
        return block_listing(functions_[function], counts, symbolizer_);
    }
    std::string json(std::size_t function, const BlockCounts& counts,
                     const std::vector<bool>& counted) override {
        return block_json(functions_[function], counts, counted);
    }

  private:
    const std::vector<FunctionFlow>& functions_;
    Symbolizer& symbolizer_;
};

class LineView : public BlockView {
  public:
    LineView(const std::vector<FunctionFlow>& functions, const BlockOptions& options,
             const KernelImage& image, const StopSignals& stop)
        : functions_(functions),
          source_(options.source),
          lines_(read_lines(functions, options.debuginfo, image, stop)) {}
    std::string text(std::size_t function, const BlockCounts& counts) override {
        const FunctionLines& lines = lines_[function];
        return line_listing(functions_[function].name, lines, lines.count(counts.counts), source_);
    }
    std::string json(std::size_t function, const BlockCounts& counts,
                     const std::vector<bool>&) override {
        const FunctionLines& lines = lines_[function];
        return line_json(functions_[function].name, lines, lines.count(counts.counts));
    }

  private:
    const std::vector<FunctionFlow>& functions_;
    SourceText source_;
    std::vector<FunctionLines> lines_;
};

std::unique_ptr<BlockView> make_view(const BlockOptions& options,
                                     const std::vector<FunctionFlow>& functions,
                                     const KernelImage& image, Symbolizer& symbolizer,
                                     const StopSignals& stop) {
    if (options.lines) return std::make_unique<LineView>(functions, options, image, stop);
    return std::make_unique<InsnView>(functions, symbolizer);
}

CountingRules rules_of(const BlockOptions& options) {
    return {options.check ? BlocksCounted::kAll : BlocksCounted::kFewest, options.mode,
            options.tasks};
}

}  // namespace

BlockMeasurement::BlockMeasurement(const BlockOptions& options, Symbolizer& symbolizer,
                                   const StopSignals& stop)
    : device_(open_noted_device()),
      chosen_(choose_functions(options.sites, symbolizer, stop)),
      view_(make_view(options, chosen_.flows, chosen_.image, symbolizer, stop)),
      counters_(chosen_.flows, rules_of(options), device_, symbolizer, stop),
      shows_all_(options.json || chosen_.flows.size() == 1) {
    say("{}\n", attached_blocks_line(chosen_, counters_.total()));
    tell_what_is_off(device_);
}

// Which functions are shown. Of many most have not run, and a kernel's would be millions of lines:
// a table leaves them out. Programs want all.
std::vector<std::size_t> BlockMeasurement::shown() const {
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < looks_.size(); ++i)
        if (shows_all_ || !has_not_run(looks_[i])) shown.push_back(i);
    return shown;
}

void BlockMeasurement::each_result(const std::function<void(const std::string&)>& take) {
    look();
    for (std::size_t i = 0; i < looks_.size(); ++i)
        take(view_->json(i, looks_[i], counters_.counted(i)));
}

std::string BlockMeasurement::results(std::size_t /*most*/) {
    std::string lines;
    each_result([&lines](const std::string& line) { lines += line; });
    return lines;
}

std::string BlockMeasurement::listing() {
    look();
    std::string text;
    for (const std::size_t i : shown())
        text += view_->text(i, looks_[i]);
    return text;
}

void BlockMeasurement::stop() {
    counters_.disable();
}

std::string BlockMeasurement::summary() const {
    const std::vector<std::size_t> told = shown();
    std::string text;
    for (const std::size_t i : told)
        text += block_summary(chosen_.flows[i], looks_[i], counters_.counted(i));
    const std::size_t silent = looks_.size() - told.size();
    if (silent != 0) text += plural(silent, "function") + " did not run\n";
    return text;
}

}  // namespace djprobe::loader
