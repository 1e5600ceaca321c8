// SPDX-License-Identifier: GPL-2.0
#include "blocks/block_session.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "base/plural.h"
#include "base/say.h"
#include "blocks/chosen_functions.h"
#include "blocks/line_listing.h"
#include "blocks/listing.h"
#include "session/attach_session.h"
#include "session/command.h"

namespace djprobe::loader {
namespace {

/// Shows what the counters of one function say.
class View {
  public:
    View() = default;
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    virtual ~View() = default;
    virtual std::string show(std::size_t function, const BlockCounts& counts,
                             const std::vector<bool>& counted) = 0;
};

class InsnView : public View {
  public:
    InsnView(const std::vector<FunctionFlow>& functions, bool json, Symbolizer& symbolizer)
        : functions_(functions), json_(json), symbolizer_(symbolizer) {}
    std::string show(std::size_t function, const BlockCounts& counts,
                     const std::vector<bool>& counted) override {
        const FunctionFlow& flow = functions_[function];
        return json_ ? block_json(flow, counts, counted) : block_listing(flow, counts, symbolizer_);
    }

  private:
    const std::vector<FunctionFlow>& functions_;
    bool json_;
    Symbolizer& symbolizer_;
};

class LineView : public View {
  public:
    LineView(const std::vector<FunctionFlow>& functions, const BlockOptions& options,
             const KernelImage& image, const StopSignals& stop)
        : functions_(functions),
          json_(options.json),
          source_(options.source),
          lines_(read_lines(functions, options.debuginfo, image, stop)) {}
    std::string show(std::size_t function, const BlockCounts& counts,
                     const std::vector<bool>&) override {
        const FunctionLines& lines = lines_[function];
        const std::string& name = functions_[function].name;
        const LineCounts found = lines.count(counts.counts);
        return json_ ? line_json(name, lines, found) : line_listing(name, lines, found, source_);
    }

  private:
    const std::vector<FunctionFlow>& functions_;
    bool json_;
    SourceText source_;
    std::vector<FunctionLines> lines_;
};

std::unique_ptr<View> make_view(const BlockOptions& options,
                                const std::vector<FunctionFlow>& functions,
                                const KernelImage& image, Symbolizer& symbolizer,
                                const StopSignals& stop) {
    if (options.lines) return std::make_unique<LineView>(functions, options, image, stop);
    return std::make_unique<InsnView>(functions, options.json, symbolizer);
}

// Which functions are shown. Of many most have not run, and a kernel's would be millions of lines:
// a table leaves them out. Programs want all.
std::vector<std::size_t> shown(const std::vector<BlockCounts>& looks, bool all) {
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < looks.size(); ++i)
        if (all || !has_not_run(looks[i])) shown.push_back(i);
    return shown;
}

}  // namespace

int run_count_blocks(const BlockOptions& options) {
    StopSignals stop;
    SnapshotSignal wish;
    Output output(STDOUT_FILENO, &stop);
    const Device device = Device::open();
    note_untested_kernel();
    Symbolizer symbolizer;
    const ChosenFunctions chosen = choose_functions(options.sites, symbolizer, stop);
    const std::vector<FunctionFlow>& functions = chosen.flows;
    const std::unique_ptr<View> view =
        make_view(options, functions, chosen.image, symbolizer, stop);
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    const Counting counting = options.check ? Counting::kAll : Counting::kFewest;
    const BlockCounters counters(functions, {counting, options.mode, options.tasks}, device,
                                 symbolizer, stop);
    say("{}\n", attached_blocks_line(chosen, counters.total()));
    tell_what_is_off(device);

    Watch watch(options, output);
    const bool all = options.json || functions.size() == 1;
    const auto show = [&](const std::vector<BlockCounts>& looks) {
        std::string text;
        for (const std::size_t i : shown(looks, all)) {
            text += view->show(i, looks[i], counters.counted(i));
            if (!options.json) continue;
            // All lines of a whole kernel would take much memory, and one write() for each would be
            // many hits of what is counted.
            output.buffer().append(std::exchange(text, {}));
            output.flush_if_full();
        }
        if (options.json)
            output.flush();
        else
            watch.print(text);
    };
    const std::optional<int> status =
        watch.run(stop, wish, child, [&](double) { show(counters.look()); });
    counters.disable();
    const std::vector<BlockCounts> looks = counters.look();
    show(looks);
    const std::vector<std::size_t> told = shown(looks, all);
    for (const std::size_t i : told)
        say("{}", block_summary(functions[i], looks[i], counters.counted(i)));
    if (told.size() < functions.size())
        say("{} did not run\n", plural(functions.size() - told.size(), "function"));
    if (status) say("{}\n", command_text(*status));
    return command_exit_status(status, options.exit_status);
}

}  // namespace djprobe::loader
