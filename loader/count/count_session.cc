// SPDX-License-Identifier: GPL-2.0
#include "count/count_session.h"

#include <unistd.h>

#include <memory>
#include <optional>

#include "base/descriptors.h"
#include "base/error.h"
#include "base/output.h"
#include "count/condition.h"
#include "count/count_table.h"
#include "count/counter_map.h"
#include "count/kernel_counting.h"
#include "count/module_counting.h"
#include "count/slots.h"
#include "kernel/reason.h"
#include "session/attach_session.h"
#include "session/backend.h"
#include "session/command.h"
#include "session/summary.h"

namespace djprobe::loader {
namespace {

// What each hit at the site does; none: it increments its counter.
std::vector<djprobe_action> actions_at(const SiteSpec& site, const CountOptions& options,
                                       Prototypes& prototypes) {
    std::vector<djprobe_action> actions = task_conditions(options.tasks);
    const auto append = [&actions](const std::vector<djprobe_action>& more) {
        actions.insert(actions.end(), more.begin(), more.end());
    };
    if (options.conditions) append(parse_conditions(*options.conditions, site, prototypes));
    if (options.histogram_of)
        append(slot_actions(find_operand(*options.histogram_of, site, prototypes)));
    else if (!actions.empty())
        append({{DJPROBE_ACTION_COUNT, 0, 0, 0, 0, 0}});
    return actions;
}
static_assert(kMostTaskConditions + kMostConditions + kSlotActions <= DJPROBE_ACTIONS_MAX);

std::vector<std::vector<djprobe_action>> actions_of(const CountOptions& options,
                                                    Symbolizer& symbolizer) {
    std::vector<std::vector<djprobe_action>> actions;
    Prototypes prototypes;
    for (const SiteSpec& site : options.sites) {
        // Of a misspelt function BTF tells no arguments either.
        if (options.conditions || options.histogram_of) check_symbol(site, symbolizer);
        actions.push_back(actions_at(site, options, prototypes));
    }
    return actions;
}

// What the counters say, as often as is wished.
class Display {
  public:
    Display(const CountOptions& options, int map, bool is_signed, Watch& watch, Output& output,
            Symbolizer& symbolizer)
        : options_(options),
          map_(map),
          is_signed_(is_signed),
          watch_(watch),
          output_(output),
          symbolizer_(symbolizer) {}

    // `seconds`: since the last time.
    void show(const std::vector<AttachmentReport>& reports, double seconds) {
        if (options_.histogram_of) return show_histogram();
        counts_.look(reports);
        const std::vector<Counted> top = counts_.top(options_.top, symbolizer_);
        if (options_.json)
            output_.print(count_json(top, counts_.total(), watch_.elapsed()));
        else
            watch_.print(count_table(top, seconds));
    }
    // The last time, all in all. `is_told`: the summary has the counts.
    void show_end(const std::vector<AttachmentReport>& reports, bool is_told) {
        if (options_.histogram_of || (options_.json && !is_told)) return show(reports, 0);
        counts_.look(reports);
        if (!options_.json) watch_.print(count_table(counts_.top(options_.top, symbolizer_), 0));
    }

  private:
    void show_histogram() {
        const Slots slots = read_slots(map_, is_signed_);
        if (options_.json)
            output_.print(slots_json(slots, watch_.elapsed()));
        else
            watch_.print(slots_text(slots));
    }

    const CountOptions& options_;
    int map_;
    bool is_signed_;  // the operand of a histogram
    Watch& watch_;
    Counts counts_;
    Output& output_;
    Symbolizer& symbolizer_;
};

// The kernel's own probes have no conditions.
void check_kernel_can(const CountOptions& options) {
    if (!options.conditions) return;
    const char* const instead = "'probeload trace SITE --count-by func --if ...' needs no module";
    if (options.backend == Backend::kKernel)
        fail(ExitCode::kUsage, "--backend kernel: it has no conditions: leave --if out; {}",
             instead);
    fail(ExitCode::kNotLoaded,
         "--if: conditions are the module's: load it first (modprobe djprobe); {}", instead);
}

// Whether a trace takes the operand as well: it has no arguments by number, and no memory.
bool is_for_trace(const SiteSpec& site, const std::string& operand) {
    return !site.symbol.empty() && operand.find('(') == operand.npos &&
           !(operand.size() == 4 && operand.starts_with("arg"));
}

// The kernel's own probes keep no histogram either.
std::optional<Device> open_for(const CountOptions& options) {
    try {
        return open_device(options.backend, false);
    } catch (const Error& error) {
        if (error.code() != ExitCode::kNotLoaded || !options.histogram_of ||
            !is_for_trace(options.sites.front(), *options.histogram_of))
            throw;
        fail(ExitCode::kNotLoaded, "{}; 'probeload trace {} --hist {}' needs no module",
             error.what(), options.sites.front().str(), *options.histogram_of);
    }
}

std::unique_ptr<Counting> begin_counting(const CountOptions& options,
                                         const std::vector<std::vector<djprobe_action>>& actions,
                                         int map, const Device* device, Symbolizer& symbolizer,
                                         const StopSignals& stop) {
    if (!device)
        return std::make_unique<KernelCounting>(options.sites, options.tasks, symbolizer, stop);
    return std::make_unique<ModuleCounting>(options.sites, actions, map, options.mode, *device,
                                            symbolizer, stop);
}

}  // namespace

int run_count(const CountOptions& options, const Numbers& numbers) {
    use_all_descriptors();
    StopSignals stop;
    SnapshotSignal wish;
    Output output(STDOUT_FILENO, &stop);
    Symbolizer symbolizer;
    const std::vector<std::vector<djprobe_action>> actions = actions_of(options, symbolizer);
    const std::optional<Device> device = open_for(options);
    UniqueFd map;
    if (device) {
        note_untested_kernel();
        map = make_counter_map(options.histogram_of ? kSlotCounters
                                                    : counters_for(options.sites, symbolizer));
    } else {
        check_kernel_can(options);
        note_no_module(options.backend, options.mode);
    }
    // What probeload reads for the sites' names would else be hits of its own.
    symbolizer.kallsyms();
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    const std::unique_ptr<Counting> counting =
        begin_counting(options, actions, map.get(), device ? &*device : nullptr, symbolizer, stop);
    if (device) tell_what_is_off(*device);

    Watch watch(options, output);
    const bool is_signed = options.histogram_of && has_sign(actions.front());
    Display display(options, map.get(), is_signed, watch, output, symbolizer);
    const auto distributions = [&]() -> std::vector<Distribution> {
        if (!options.histogram_of) return {};
        Distribution values = slots_distribution(read_slots(map.get(), is_signed));
        values.labels = {{"site", options.sites.front().str()}, {"of", *options.histogram_of}};
        return {values};
    };
    watch.tell(numbers, [&] {
        Summary now;
        now.attachments = counting->look();
        now.distributions = distributions();
        return now;
    });
    const std::optional<int> status = watch.run(
        stop, wish, child, [&](double seconds) { display.show(counting->look(), seconds); });
    Summary summary;
    const std::vector<AttachmentReport>& last = counting->stop(summary, symbolizer);
    display.show_end(last, !summary.attachments.empty());
    // The table has them.
    for (AttachmentReport& report : summary.attachments)
        report.top = options.json ? options.top : 0;
    summary.command_status = status;
    if (numbers) {
        summary.distributions = distributions();
        numbers(summary);
    }
    print_summary(summary, options.json ? Format::kJson : Format::kText, output, symbolizer);
    return command_exit_status(status, options.exit_status);
}

}  // namespace djprobe::loader
