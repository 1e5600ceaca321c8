// SPDX-License-Identifier: GPL-2.0
#include "blocks/block_session.h"

#include <unistd.h>

#include "base/say.h"
#include "blocks/chosen_functions.h"
#include "blocks/listing.h"
#include "session/attach_session.h"
#include "session/command.h"

namespace djprobe::loader {
namespace {

class Display {
  public:
    Display(const BlockOptions& options, const std::vector<FunctionFlow>& functions,
            const BlockCounters& counters, Watch& watch, Output& output, Symbolizer& symbolizer)
        : options_(options),
          functions_(functions),
          counters_(counters),
          watch_(watch),
          output_(output),
          symbolizer_(symbolizer) {}

    std::vector<BlockCounts> show() {
        std::vector<BlockCounts> looks = counters_.look();
        std::string text;
        for (std::size_t i = 0; i < functions_.size(); ++i)
            text += options_.json ? block_json(functions_[i], looks[i], counted(i))
                                  : block_listing(functions_[i], looks[i], symbolizer_);
        if (options_.json)
            output_.print(text);
        else
            watch_.print(text);
        return looks;
    }

    [[nodiscard]] std::vector<bool> counted(std::size_t function) const {
        std::vector<bool> counted;
        for (std::size_t i = 0; i < functions_[function].blocks.size(); ++i)
            counted.push_back(counters_.is_counted(function, i));
        return counted;
    }

  private:
    const BlockOptions& options_;
    const std::vector<FunctionFlow>& functions_;
    const BlockCounters& counters_;
    Watch& watch_;
    Output& output_;
    Symbolizer& symbolizer_;
};

}  // namespace

int run_count_blocks(const BlockOptions& options) {
    StopSignals stop;
    Output output(STDOUT_FILENO, &stop);
    const Device device = Device::open();
    note_untested_kernel();
    Symbolizer symbolizer;
    // Before the kernel's text is read, which takes a second.
    const auto named = find_functions(options.sites, symbolizer.kallsyms(), symbolizer);
    KernelImage image = KernelImage::from_running_kernel();
    const ChosenFunctions chosen = choose_functions(named, image, symbolizer);
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    const BlockCounters counters(chosen.flows, options.check, options.mode, device, symbolizer,
                                 stop);
    say("{}\n", attached_blocks_line(chosen, counters.total()));
    for (const std::string& line : what_is_off(device.set_switches(0, 0)))
        say("probeload: {}\n", line);

    Watch watch(options, output);
    Display display(options, chosen.flows, counters, watch, output, symbolizer);
    const std::optional<int> status = watch.run(stop, child, [&](double) { display.show(); });
    counters.disable();
    const std::vector<BlockCounts> looks = display.show();
    for (std::size_t i = 0; i < looks.size(); ++i)
        say("{}", block_summary(chosen.flows[i], looks[i], display.counted(i)));
    return command_exit_status(status);
}

}  // namespace djprobe::loader
