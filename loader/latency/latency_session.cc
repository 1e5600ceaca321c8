// SPDX-License-Identifier: GPL-2.0
#include "latency/latency_session.h"

#include <unistd.h>

#include <vector>

#include "base/error.h"
#include "base/output.h"
#include "base/say.h"
#include "kernel/device.h"
#include "latency/programs.h"
#include "session/attach_session.h"
#include "session/attachment.h"
#include "session/command.h"
#include "session/summary.h"

namespace djprobe::loader {
namespace {

void check_places(const LatencyOptions& options) {
    if (options.from == options.to && options.from.site.symbol.empty())
        fail(ExitCode::kUsage, "{}: A and B are the same place: give two", options.from.str());
    if (options.from == options.to)
        fail(ExitCode::kUsage,
             "{}: A and B are the same place: give two, as in: probeload latency {} {}:return",
             options.from.str(), options.from.site.str(), options.from.site.symbol);
    if (options.return_mode && !options.from.at_returns && !options.to.at_returns)
        fail(ExitCode::kUsage, "--ret-mode: neither A nor B is FUNC:return");
}

// One place has many names: FUNC and FUNC+0x5 are one, if a call of ftrace is between them.
void check_different(const LatencyOptions& options, const AttachmentReport& from,
                     const AttachmentReport& to) {
    if (from.covers != Covers::kSite || to.covers != Covers::kSite) return;
    const std::uint64_t address = from.probes.front().address;
    if (address == 0 || address != to.probes.front().address) return;
    fail(ExitCode::kUsage, "{} and {} are the same place, {:#x}: give two", options.from.str(),
         options.to.str(), address);
}

std::vector<Attachment> attach_both(const LatencyOptions& options, const LatencyPrograms& programs,
                                    const Device& device, Symbolizer& symbolizer,
                                    const StopSignals& stop) {
    AttachOptions attach;
    attach.mode = options.mode;
    attach.return_mode = options.return_mode;
    std::vector<Attachment> attachments;
    const auto add = [&](Program program, const Place& place) {
        attachments.push_back(Attachment::attach({std::move(program), place.site, place.at_returns},
                                                 attach, device, symbolizer, stop));
    };
    add(programs.begin(), options.from);
    add(programs.end(), options.to);
    check_different(options, attachments.front().report(), attachments.back().report());
    return attachments;
}

Summary sum_up(const std::vector<Attachment>& attachments, Symbolizer& symbolizer) {
    Summary summary;
    for (const Attachment& attachment : attachments)
        summary.attachments.push_back(attachment.report());
    for (const Attachment& attachment : attachments)
        attachment.disable();
    run_out();
    for (std::size_t i = 0; i < attachments.size(); ++i)
        attachments[i].complete(summary.attachments[i], symbolizer);
    return summary;
}

void show(const LatencyOptions& options, const LatencyResults& results, Watch& watch,
          Output& output) {
    if (options.json)
        output.print(latency_json(results, options.style, watch.elapsed()));
    else
        watch.print(latency_text(results, options.style));
}

}  // namespace

int run_latency(const LatencyOptions& options, const Numbers& numbers) {
    check_places(options);
    StopSignals stop;
    SnapshotSignal wish;
    Output output(STDOUT_FILENO, &stop);
    Symbolizer symbolizer;
    const Device device = Device::open();
    note_untested_kernel();
    LatencyPrograms programs = LatencyPrograms::load(options.style.by);
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    const std::vector<Attachment> attachments =
        attach_both(options, programs, device, symbolizer, stop);
    for (const Attachment& attachment : attachments) {
        attachment.wait(stop);
        stop.check();
        say("{}\n", attached_line(attachment.report(), symbolizer));
    }
    for (const std::string& line : what_is_off(device.set_switches(0, 0)))
        say("probeload: {}\n", line);

    programs.count(true);
    Watch watch(options, output);
    watch.tell(numbers, [&] {
        Summary now;
        for (const Attachment& attachment : attachments)
            now.attachments.push_back(attachment.snapshot(symbolizer));
        now.distributions = latency_distributions(programs.read(), options.style);
        return now;
    });
    const std::optional<int> status = watch.run(
        stop, wish, child, [&](double) { show(options, programs.read(), watch, output); });
    programs.count(false);
    Summary summary = sum_up(attachments, symbolizer);
    const LatencyResults results = programs.read();
    show(options, results, watch, output);
    summary.command_status = status;
    if (numbers) {
        summary.distributions = latency_distributions(results, options.style);
        numbers(summary);
    }
    print_summary(summary, options.json ? Format::kJson : Format::kText, output, symbolizer);
    return command_exit_status(status, options.exit_status);
}

}  // namespace djprobe::loader
