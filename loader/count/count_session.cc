// SPDX-License-Identifier: GPL-2.0
#include "count/count_session.h"

#include <unistd.h>

#include <optional>

#include "base/error.h"
#include "base/output.h"
#include "base/say.h"
#include "count/condition.h"
#include "count/count_table.h"
#include "count/counter_map.h"
#include "count/slots.h"
#include "kernel/glob.h"
#include "session/attach_session.h"
#include "session/attachment.h"
#include "session/command.h"
#include "session/summary.h"

namespace djprobe::loader {
namespace {

// A function that is refused has one, too.
std::size_t counters_for(const SiteSpec& site, Symbolizer& symbolizer) {
    return site.is_glob() ? functions_like(symbolizer.kallsyms(), site.symbol).size() : 1;
}

std::size_t counters_for(const std::vector<SiteSpec>& sites, Symbolizer& symbolizer) {
    std::size_t counters = 0;
    for (const SiteSpec& site : sites)
        counters += counters_for(site, symbolizer);
    return counters;
}

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

std::vector<std::vector<djprobe_action>> actions_of(const CountOptions& options) {
    std::vector<std::vector<djprobe_action>> actions;
    Prototypes prototypes;
    for (const SiteSpec& site : options.sites)
        actions.push_back(actions_at(site, options, prototypes));
    return actions;
}

// The counters of one attachment follow those of the one before.
std::vector<Attachment> attach_all(const CountOptions& options,
                                   const std::vector<std::vector<djprobe_action>>& actions, int map,
                                   const Device& device, Symbolizer& symbolizer,
                                   const StopSignals& stop) {
    std::vector<Attachment> attachments;
    std::size_t used = 0;
    for (std::size_t i = 0; i < options.sites.size(); ++i) {
        attachments.push_back(Attachment::attach_counters(options.sites[i], {map, used, actions[i]},
                                                          options.mode, device, symbolizer, stop));
        used += counters_for(options.sites[i], symbolizer);
    }
    return attachments;
}

std::vector<AttachmentReport> reports_of(const std::vector<Attachment>& attachments) {
    std::vector<AttachmentReport> reports;
    reports.reserve(attachments.size());
    for (const Attachment& attachment : attachments)
        reports.push_back(attachment.report());
    return reports;
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
    // The last time, all in all.
    void show_end(const std::vector<AttachmentReport>& reports) {
        if (options_.histogram_of) return show_histogram();
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

Summary sum_up(const CountOptions& options, const std::vector<Attachment>& attachments,
               Symbolizer& symbolizer) {
    Summary summary;
    summary.attachments = reports_of(attachments);
    for (const Attachment& attachment : attachments)
        attachment.disable();
    run_out();
    for (std::size_t i = 0; i < attachments.size(); ++i) {
        attachments[i].complete(summary.attachments[i], symbolizer);
        // The table has them.
        summary.attachments[i].top = options.json ? options.top : 0;
    }
    return summary;
}

}  // namespace

int run_count(const CountOptions& options, const Numbers& numbers) {
    StopSignals stop;
    SnapshotSignal wish;
    Output output(STDOUT_FILENO, &stop);
    Symbolizer symbolizer;
    const std::vector<std::vector<djprobe_action>> actions = actions_of(options);
    const Device device = Device::open();
    note_untested_kernel();
    const UniqueFd map = make_counter_map(
        options.histogram_of ? kSlotCounters : counters_for(options.sites, symbolizer));
    // What probeload reads for the sites' names would else be hits of its own.
    symbolizer.kallsyms();
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    const std::vector<Attachment> attachments =
        attach_all(options, actions, map.get(), device, symbolizer, stop);
    for (const Attachment& attachment : attachments) {
        attachment.wait(stop);
        stop.check();
        say("{}\n", attached_line(attachment.report(), symbolizer));
    }
    for (const std::string& line : what_is_off(device.set_switches(0, 0)))
        say("probeload: {}\n", line);

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
        now.attachments = reports_of(attachments);
        now.distributions = distributions();
        return now;
    });
    const std::optional<int> status = watch.run(
        stop, wish, child, [&](double seconds) { display.show(reports_of(attachments), seconds); });
    Summary summary = sum_up(options, attachments, symbolizer);
    display.show_end(summary.attachments);
    summary.command_status = status;
    if (numbers) {
        summary.distributions = distributions();
        numbers(summary);
    }
    print_summary(summary, options.json ? Format::kJson : Format::kText, output, symbolizer);
    return command_exit_status(status, options.exit_status);
}

}  // namespace djprobe::loader
