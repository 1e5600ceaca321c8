// SPDX-License-Identifier: GPL-2.0
#include "latency/latency_measurement.h"

#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "object/libbpf_log.h"
#include "session/attach_session.h"
#include "session/backend.h"
#include "session/command.h"

namespace djprobe::loader {
namespace {

void check_places(const LatencyOptions& options) {
    const SiteSpec& site = options.from.site;
    const bool is_function = !site.symbol.empty() && !site.is_counted_from_text();
    if (options.from == options.to && !is_function)
        fail(ExitCode::kUsage, "{}: A and B are the same place: give two", options.from.str());
    if (options.from == options.to)
        fail(ExitCode::kUsage,
             "{}: A and B are the same place: give two, as in: probeload latency {} {}:return",
             options.from.str(), options.from.site.str(), options.from.site.symbol);
    if (options.return_mode && !options.from.at_returns && !options.to.at_returns)
        fail(ExitCode::kUsage, "--ret-mode: neither A nor B is FUNC:return");
}

// One place has many names: FUNC and FUNC+0x5 are one, if a call of ftrace is between them. An
// address is 0 where the kernel hides it.
void check_different(const LatencyOptions& options, std::uint64_t from, std::uint64_t to) {
    if (from == 0 || from != to) return;
    fail(ExitCode::kUsage, "{} and {} are the same place, {:#x}: give two", options.from.str(),
         options.to.str(), from);
}

void check_different(const LatencyOptions& options, const AttachmentReport& from,
                     const AttachmentReport& to) {
    if (from.covers != to.covers || from.probes.empty() || to.probes.empty()) return;
    check_different(options, from.probes.front().address, to.probes.front().address);
}

void attach_programs(Measuring& measuring, const LatencyOptions& options, const Device& device,
                     Symbolizer& symbolizer, const StopSignals& stop) {
    AttachOptions attach;
    attach.mode = options.mode;
    attach.return_mode = options.return_mode;
    const auto add = [&](Program program, const Place& place) {
        measuring.attachments.push_back(Attachment::attach(
            {std::move(program), place.site, place.at_returns}, attach, device, symbolizer, stop));
    };
    add(measuring.programs.begin(), options.from);
    add(measuring.programs.end(), options.to);
}

void attach_actions(Measuring& measuring, const LatencyOptions& options, const Device& device,
                    Symbolizer& symbolizer, const StopSignals& stop) {
    const auto add = [&](const Counters& counters, const Place& place) {
        measuring.attachments.push_back(
            Attachment::attach_actions(place, counters, options.mode, device, symbolizer, stop));
    };
    add(measuring.programs.begin_counters(), options.from);
    add(measuring.programs.end_counters(), options.to);
}

void check_different(const LatencyOptions& options, const Measuring& measuring) {
    check_different(options, measuring.attachments.front().report(),
                    measuring.attachments.back().report());
}

// Why actions cannot measure it, whatever the places are; "": they may.
std::string why_no_actions(const LatencyOptions& options, std::uint64_t& rate) {
    if (options.style.by == LatencyBy::kComm) return "--by comm takes them";
    if (options.return_mode == ReturnMode::kShadow) return "--ret-mode shadow takes them";
    std::string why_not;
    const std::optional<std::uint64_t> known = tsc_rate(why_not);
    rate = known.value_or(0);
    return known ? "" : why_not;
}

// The kernel's own probes see returns in one way.
void check_kernel_can(const LatencyOptions& options) {
    if (options.return_mode.value_or(ReturnMode::kAuto) == ReturnMode::kAuto) return;
    if (options.backend == Backend::kKernel)
        fail(ExitCode::kUsage,
             "--backend kernel: it has one way to see returns: leave --ret-mode out");
    fail(ExitCode::kNotLoaded,
         "--ret-mode: the ways to see returns are the module's: load it first (modprobe djprobe)");
}

// Two probes of the kernel's own.
Measuring begin_at_kernel_probes(const LatencyOptions& options, Symbolizer& symbolizer,
                                 const StopSignals& stop) {
    check_kernel_can(options);
    note_no_module(options.backend, options.mode);
    Measuring measuring{LatencyPrograms::load(options.style.by)};
    const LibbpfLog quiet(false);  // what failed is said here
    // The programs are two, so no place has been attached before.
    const auto add = [&](const Program& program, const Place& place) {
        stop.check();
        return measuring.kernel.attach({program, place.site, place.at_returns}, {}, symbolizer)
            .front();
    };
    const std::uint64_t from = add(measuring.programs.begin(), options.from);
    const std::uint64_t to = add(measuring.programs.end(), options.to);
    stop.check();
    if (options.from.at_returns == options.to.at_returns) check_different(options, from, to);
    measuring.how = "measured by programs, at the kernel's own probes";
    return measuring;
}

// By actions where they can, else by programs. A place that actions cannot have, programs may; if
// not even they, they say why.
Measuring begin_measuring(const LatencyOptions& options, const Device& device,
                          Symbolizer& symbolizer, const StopSignals& stop) {
    std::uint64_t rate = 0;
    std::string why_not = why_no_actions(options, rate);
    if (why_not.empty()) {
        try {
            Measuring measuring{LatencyPrograms::load_for_actions(options.style.by, rate)};
            attach_actions(measuring, options, device, symbolizer, stop);
            check_different(options, measuring);
            measuring.how = "measured by actions, whose clock is the time stamp counter";
            measuring.rate = rate;
            return measuring;
        } catch (const Error& error) {
            stop.check();
            why_not = error.what();
        }
    }
    Measuring measuring{LatencyPrograms::load(options.style.by)};
    attach_programs(measuring, options, device, symbolizer, stop);
    check_different(options, measuring);
    measuring.how = "measured by programs: " + why_not;
    return measuring;
}

Measuring begin(const LatencyOptions& options, const std::optional<Device>& device,
                Symbolizer& symbolizer, const StopSignals& stop) {
    if (!device) return begin_at_kernel_probes(options, symbolizer, stop);
    note_untested_kernel();
    return begin_measuring(options, *device, symbolizer, stop);
}

std::optional<Device> device_for(const LatencyOptions& options) {
    check_places(options);
    return open_device(options.backend, false);
}

LatencyStyle with_top(const LatencyStyle& style, std::size_t most) {
    LatencyStyle shown = style;
    shown.top = most;
    return shown;
}

}  // namespace

void ClockWatch::check() const {
    std::string why;
    if (rate_ == 0 || tsc_rate(why) == rate_) return;
    fail(ExitCode::kFailure,
         "the kernel has given up its clock meanwhile, and the times may be wrong: measure "
         "again, which takes another one");
}

void ClockWatch::tell_of_sleep() const {
    constexpr std::int64_t kJitter = 1'000'000;
    if (rate_ == 0 || time_asleep() - asleep_ < kJitter) return;
    say("probeload: the machine was suspended meanwhile: a time across that is wrong\n");
}

LatencyMeasurement::LatencyMeasurement(const LatencyOptions& options, Symbolizer& symbolizer,
                                       const StopSignals& stop)
    : symbolizer_(symbolizer),
      style_(options.style),
      device_(device_for(options)),
      measuring_(loader::begin(options, device_, symbolizer, stop)),
      clock_(measuring_.rate) {
    style_.by_actions = measuring_.programs.are_actions();
    for (const Attachment& attachment : measuring_.attachments) {
        attachment.wait(stop);
        stop.check();
        say("{}\n", attached_line(attachment.report(), symbolizer));
    }
    say("{}\n", measuring_.how);
    if (device_) tell_what_is_off(*device_);
    measuring_.programs.count(true);
    begin();
}

LatencyResults LatencyMeasurement::read() const {
    clock_.check();
    return measuring_.programs.read();
}

std::string LatencyMeasurement::results(std::size_t most) {
    return latency_json(read(), with_top(style_, most), elapsed());
}

std::string LatencyMeasurement::table(std::size_t most) const {
    return latency_text(read(), with_top(style_, most));
}

Summary LatencyMeasurement::snapshot() {
    Summary now;
    for (const Attachment& attachment : measuring_.attachments)
        now.attachments.push_back(attachment.snapshot(symbolizer_));
    now.kernel = measuring_.kernel.reports();
    now.distributions = latency_distributions(read(), style_);
    return now;
}

void LatencyMeasurement::stop() {
    end();
    measuring_.programs.count(false);
    const std::vector<Attachment>& attachments = measuring_.attachments;
    for (const Attachment& attachment : attachments)
        summary_.attachments.push_back(attachment.report());
    for (const Attachment& attachment : attachments)
        attachment.disable();
    measuring_.kernel.detach();
    run_out();
    for (std::size_t i = 0; i < attachments.size(); ++i)
        attachments[i].complete(summary_.attachments[i], symbolizer_);
    summary_.kernel = measuring_.kernel.reports();
    summary_.distributions = latency_distributions(read(), style_);
    clock_.tell_of_sleep();
}

}  // namespace djprobe::loader
