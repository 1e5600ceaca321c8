// SPDX-License-Identifier: GPL-2.0
#include "count/count_measurement.h"

#include "base/error.h"
#include "count/condition.h"
#include "count/counter_map.h"
#include "count/kernel_counting.h"
#include "count/module_counting.h"
#include "count/slots.h"
#include "kernel/addresses.h"
#include "kernel/reason.h"
#include "session/attach_session.h"
#include "session/backend.h"

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

// By an address, or counted from the kernel's first byte, it may be a function's entry, too, where
// arguments have names.
SiteSpec by_function(const SiteSpec& site, Symbolizer& symbolizer) {
    const Kallsyms& kallsyms = symbolizer.kallsyms();
    const std::optional<std::uint64_t> address = address_of(site, kallsyms);
    const Symbol* const function = address ? kallsyms.at_or_below(*address) : nullptr;
    if (!function || function->address != *address) return site;
    return SiteSpec{function->qualified_name(), 0, 0};
}

std::vector<std::vector<djprobe_action>> actions_of(const CountOptions& options,
                                                    Symbolizer& symbolizer) {
    std::vector<std::vector<djprobe_action>> actions;
    Prototypes prototypes;
    for (const SiteSpec& site : options.sites) {
        // Of a misspelt function BTF tells no arguments either.
        const bool names_operands = options.conditions || options.histogram_of;
        if (names_operands) check_symbol(site, symbolizer);
        actions.push_back(
            actions_at(names_operands ? by_function(site, symbolizer) : site, options, prototypes));
    }
    return actions;
}

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

CountMeasurement::CountMeasurement(const CountOptions& options, Symbolizer& symbolizer,
                                   const StopSignals& stop)
    : options_(options),
      symbolizer_(symbolizer),
      actions_(actions_of(options_, symbolizer)),
      device_(open_for(options_)),
      is_signed_(options_.histogram_of && has_sign(actions_.front())) {
    if (device_) {
        note_untested_kernel();
        map_ = make_counter_map(options_.histogram_of ? kSlotCounters
                                                      : counters_for(options_.sites, symbolizer));
    } else {
        check_kernel_can(options_);
        note_no_module(options_.backend, options_.mode);
    }
    // What probeload reads for the sites' names would else be hits of its own.
    symbolizer.kallsyms();
    counting_ = begin_counting(options_, actions_, map_.get(), device_ ? &*device_ : nullptr,
                               symbolizer, stop);
    if (device_) tell_what_is_off(*device_);
    begin();
}

void CountMeasurement::look() {
    counts_.look(last_ ? *last_ : counting_->look());
}

std::string CountMeasurement::results(std::size_t most) {
    if (options_.histogram_of) return slots_json(read_slots(map_.get(), is_signed_), elapsed());
    look();
    return count_json(counts_.top(most, symbolizer_), counts_.total(), elapsed());
}

std::string CountMeasurement::table(std::size_t most, double seconds) {
    if (options_.histogram_of) return slots_text(read_slots(map_.get(), is_signed_));
    look();
    return count_table(counts_.top(most, symbolizer_), seconds);
}

std::vector<Distribution> CountMeasurement::distributions() const {
    if (!options_.histogram_of) return {};
    Distribution values = slots_distribution(read_slots(map_.get(), is_signed_));
    values.labels = {{"site", options_.sites.front().str()}, {"of", *options_.histogram_of}};
    return {values};
}

Summary CountMeasurement::snapshot() const {
    Summary now;
    now.attachments = counting_->look();
    now.distributions = distributions();
    return now;
}

void CountMeasurement::stop() {
    end();
    last_ = &counting_->stop(summary_, symbolizer_);
    summary_.distributions = distributions();
}

}  // namespace djprobe::loader
