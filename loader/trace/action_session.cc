// SPDX-License-Identifier: GPL-2.0
#include "trace/action_session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/say.h"
#include "count/count_table.h"
#include "count/counter_map.h"
#include "count/watch.h"
#include "kernel/glob.h"
#include "kernel/possible_cpus.h"
#include "session/attach_session.h"
#include "session/attachment.h"
#include "session/command.h"
#include "session/summary.h"
#include "trace/distributions.h"
#include "trace/results_text.h"

namespace djprobe::loader {
namespace {

using AggregationKind = Aggregation::Kind;

std::size_t counters_for(const Question& question, Symbolizer& symbolizer) {
    if (question.is_glob())
        return functions_like(symbolizer.kallsyms(), question.function()).size();
    return question.aggregation->kind == AggregationKind::kHistogram ? DJPROBE_LOG2_SLOTS : 2;
}

// The first of a map with one value, over all CPUs.
std::vector<std::uint64_t> read_counters(int map, std::size_t counters) {
    std::vector<std::uint64_t> sums(counters), all(counters * possible_cpus());
    const std::uint32_t key = 0;
    if (bpf_map_lookup_elem(map, &key, all.data()) != 0)
        fail(ExitCode::kFailure, "reading the counters: {}", std::strerror(errno));
    for (std::size_t i = 0; i < all.size(); ++i)
        sums[i % counters] += all[i];
    return sums;
}

// A detour's first slot is of 0 only, and a number below 0 is in its last one.
void take_slots(const std::vector<std::uint64_t>& counters, Result& result) {
    result.slots.assign(counters.begin() + 1, counters.end());
    result.slots.front() += counters.front();
    result.count = std::accumulate(counters.begin(), counters.end(), std::uint64_t{0});
}

class DetourResults {
  public:
    DetourResults(const Question& question, const std::vector<djprobe_action>& actions, int map)
        : question_(question), actions_(actions), map_(map) {}

    std::vector<Result> results(const AttachmentReport& report, std::size_t most,
                                Symbolizer& symbolizer) {
        if (question_.aggregation->kind == AggregationKind::kCount)
            return counts(report, most, symbolizer);
        const std::size_t counters = counters_for(question_, symbolizer);
        Result result;
        const std::vector<std::uint64_t> numbers = read_counters(map_, counters);
        if (question_.aggregation->kind == AggregationKind::kHistogram)
            take_histogram(numbers, result);
        else
            result.count = numbers[0], result.number = numbers[1];
        if (result.count == 0) return {};
        if (!question_.aggregation->keys.empty())
            result.key = {function(question_.bare_function())};
        return {result};
    }

  private:
    void take_histogram(const std::vector<std::uint64_t>& counters, Result& result) const {
        take_slots(counters, result);
        if ((actions_.back().flags & DJPROBE_ACTION_SIGNED) == 0) return;
        result.negative = std::exchange(result.slots.back(), 0);
    }

    static KeyPart function(const std::string& name) {
        return {"func", name, nlohmann::json(name).dump(), {}};
    }

    std::vector<Result> counts(const AttachmentReport& report, std::size_t most,
                               Symbolizer& symbolizer) {
        counts_.look({report});
        std::vector<Result> results;
        for (const Counted& one : counts_.top(most, symbolizer)) {
            const std::string name = counted_name(one);
            Result result;
            result.key = {function(name.substr(0, name.rfind("+0x")))};
            result.count = one.probe.hits;
            results.push_back(std::move(result));
        }
        return results;
    }

    const Question& question_;
    const std::vector<djprobe_action>& actions_;
    int map_;
    Counts counts_;
};

WatchOptions watch_options(const AttachOptions& options) {
    WatchOptions watch;
    watch.seconds = options.seconds;
    watch.interval = options.interval;
    watch.command = options.command;
    watch.json = true;  // results come one below the other, as those of programs do
    return watch;
}

Summary sum_up(const Attachment& attachment, Symbolizer& symbolizer) {
    Summary summary;
    summary.attachments = {attachment.report()};
    attachment.disable();
    run_out();
    attachment.complete(summary.attachments.front(), symbolizer);
    return summary;
}

}  // namespace

int run_actions(const Question& question, const std::vector<djprobe_action>& actions,
                const AttachOptions& options, ResultsSink& sink,
                const std::function<void(const Summary&, Symbolizer&)>& ended,
                const Numbers& numbers) {
    StopSignals stop;
    SnapshotSignal wish;
    Output output(STDOUT_FILENO, &stop);
    Symbolizer symbolizer;
    const Device device = Device::open();
    note_untested_kernel();
    const UniqueFd map = make_counter_map(counters_for(question, symbolizer));
    // What probeload reads for the sites' names would else be hits of its own.
    symbolizer.kallsyms();
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    const Attachment attachment = Attachment::attach_counters(
        question.site, {map.get(), 0, actions}, options.mode, device, symbolizer, stop);
    attachment.wait(stop);
    stop.check();
    say("{}\n", attached_line(attachment.report(), symbolizer));
    tell_what_is_off(device);
    const WatchOptions watched = watch_options(options);
    Watch watch(watched, output);
    DetourResults counted(question, actions, map.get());
    const auto show = [&](const AttachmentReport& report, bool is_last) {
        sink.take(counted.results(report, sink.most(), symbolizer), is_last, output);
    };
    const auto distributions = [&](const AttachmentReport& report) {
        return distributions_of(counted.results(report, sink.most(), symbolizer), question,
                                sink.style());
    };
    watch.tell(numbers, [&] {
        Summary now;
        now.attachments = {attachment.report()};
        now.distributions = distributions(now.attachments.front());
        return now;
    });
    const std::optional<int> status =
        watch.run(stop, wish, child, [&](double) { show(attachment.report(), false); });
    Summary summary = sum_up(attachment, symbolizer);
    show(summary.attachments.front(), true);
    summary.command_status = status;
    if (numbers) {
        summary.distributions = distributions(summary.attachments.front());
        numbers(summary);
    }
    if (ended) ended(summary, symbolizer);
    print_summary(summary, options.format, output, symbolizer);
    return command_exit_status(status, false);
}

}  // namespace djprobe::loader
