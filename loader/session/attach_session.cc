// SPDX-License-Identifier: GPL-2.0
#include "session/attach_session.h"

#include <djprobe_tested.h>
#include <fmt/core.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "base/child.h"
#include "base/descriptors.h"
#include "base/error.h"
#include "base/manager.h"
#include "base/output.h"
#include "base/say.h"
#include "base/snapshot_signal.h"
#include "base/stop_signals.h"
#include "base/ticker.h"
#include "events/reader.h"
#include "events/stack_dump.h"
#include "events/stack_names.h"
#include "kernel/device.h"
#include "object/assign.h"
#include "object/libbpf_log.h"
#include "object/object.h"
#include "session/attachment.h"
#include "session/backend.h"
#include "session/choice.h"
#include "session/command.h"
#include "session/event_loop.h"
#include "session/filtering.h"
#include "session/loss_watch.h"
#include "session/numbers_watch.h"
#include "session/others.h"
#include "session/record_printers.h"
#include "session/results.h"
#include "session/running.h"
#include "session/site_names.h"
#include "session/summary.h"
#include "session/targets.h"

namespace djprobe::loader {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// After so many seconds a jump is there or never will be.
constexpr double kSettled = 5;

[[noreturn]] void fail_before_command(const AttachOptions& options, const StopSignals& stop) {
    if (stop.sent())
        fail(ExitCode::kCommandFailed, "stopped before '{}' was started", *options.command);
    fail(ExitCode::kCommandFailed,
         "'{}' was not started: sites still waited for their jumps, or events for their reader, "
         "{:g} s after the duration of {:g} s: give a longer one, or --mode int3, which waits for "
         "none",
         *options.command, kSettled, *options.seconds);
}

// A terminal takes bytes for commands.
void check_raw(const EventReader& events, const Output& output) {
    if (isatty(output.fd()))
        fail(ExitCode::kUsage, "--raw: stdout is a terminal: send it to a file or a program");
    const std::vector<std::string> names = events.map_names();
    if (names.size() < 2) return;
    for (std::size_t i = 0; i < names.size(); ++i)
        say("raw records with map {} are of '{}'\n", i, names[i]);
}

// Without events the first would never end, and the second never print.
void check_events(const AttachOptions& options, const Object& object) {
    if (carries_events(object.handle())) return;
    if (options.limit != 0)
        fail(ExitCode::kUsage, "--limit: stops after so many events, and {} sends none",
             options.file.string());
    if (options.format == Format::kRaw)
        fail(ExitCode::kUsage, "--raw: is for events, and {} sends none", options.file.string());
    if (options.buffer)
        fail(ExitCode::kUsage, "--buffer: is for events, and {} sends none", options.file.string());
}

// An empty flame graph says nothing of why.
void print_stacks(const FoldedStacks& folded, Output& output) {
    const auto stacks = folded.all();
    if (stacks.empty()) say("probeload: --folded: no event and no map's key had a stack\n");
    print_folded(stacks, output);
}

// Events come before the jump does, and fill a small buffer within milliseconds.
void settle(const Attachment& attachment, EventReader& events, const Output& output,
            const StopSignals& stop) {
    if (!events.has_sources()) return attachment.wait(stop);
    while (!stop.requested() && !output.closed() && attachment.settling()) {
        for (int i = 0; i < 10; ++i) {
            events.read();
            std::this_thread::sleep_for(1ms);
        }
    }
}

void print_attached(const std::vector<Attachment>& attachments, EventReader& events,
                    const Output& output, const StopSignals& stop, Symbolizer& symbolizer) {
    for (const Attachment& attachment : attachments) {
        settle(attachment, events, output, stop);
        say("{}\n", attached_line(attachment.report(), symbolizer));
    }
}

// For `probeload list`, should their module go.
UniqueFd keep_module_names(const std::vector<Attachment>& attachments, Symbolizer& symbolizer) {
    SiteNames names;
    for (const Attachment& attachment : attachments)
        add_module_names(attachment.report().probes, symbolizer, names);
    return keep_names(names);
}

std::optional<int> end_of(std::optional<Child>& child, bool ended, EventReader& events) {
    if (!child) return std::nullopt;
    return ended ? child->wait() : child->end([&events] { events.drain(); });
}

std::vector<Program> programs_of(const std::vector<Target>& targets,
                                 std::vector<Program> programs) {
    for (const Target& target : targets) {
        programs.push_back(target.program);
        if (target.entry) programs.push_back(*target.entry);
    }
    return programs;
}

// Whose user frames are meant, where a program does not say.
std::uint32_t the_only(const std::vector<std::uint32_t>& processes) {
    return processes.size() == 1 ? processes.front() : 0;
}

MakePrinter printing(PrintRecord print) {
    return
        [print = std::move(print)](const std::string&, bool, const RecordStyle&) { return print; };
}

int exit_status(const AttachOptions& options, const Summary& summary) {
    if (options.strict && !is_complete(summary)) return static_cast<int>(ExitCode::kIncomplete);
    return command_exit_status(summary.command_status, options.exit_status);
}

}  // namespace

void tell_what_is_off(const Device& device) {
    for (const std::string& line : what_is_off(device.set_switches(0, 0)))
        say("probeload: {}\n", line);
}

void note_untested_kernel() {
    utsname name;
    if (uname(&name) == 0 && !djprobe_is_tested(name.release))
        say("probeload: {} is none of the kernels that djprobe's tests have run on\n",
            name.release);
}

Device open_noted_device() {
    Device device = Device::open();
    note_untested_kernel();
    return device;
}

int run_attach(const AttachOptions& options, const Views& views) {
    use_all_descriptors();
    StopSignals stop;
    SnapshotSignal wish;
    Output output(STDOUT_FILENO, &stop);
    Symbolizer symbolizer;

    const LibbpfLog log(options.verbose);

    // Cheap and certain errors first: the command line, the file, then the kernel.
    Filtering filtering(options.filter);
    Object object = Object::open(options.file, options.verbose);
    check_events(options, object);
    const Choice choice = choose_programs(options, object);
    std::vector<Target> targets = choose_targets(options, choice.probes);
    for (Target& target : targets)
        target.conditions = options.conditions;
    for (const std::string& text : options.globals)
        assign_global(object.handle(), text);
    for (const std::string& text : options.maps)
        assign_map(object.handle(), text);
    for (const std::string& line : choice.left_out)
        say("probeload: {}\n", line);
    const std::optional<Device> device = open_device(options.backend, options.session);
    if (device)
        note_untested_kernel();
    else
        note_no_module(options.backend, options.mode);
    stop.check();
    const std::vector<Program> others = aim_others(options, choice.others, symbolizer);
    object.take(programs_of(targets, others));
    if (!device) aim_at_kernel(targets);
    if (options.buffer) set_ring_sizes(object.handle(), *options.buffer);
    if (device) filtering.give_conditions(targets, object, *device);
    filtering.prepare(object.handle(), others);
    object.load();

    StackNames frame_names(symbolizer, the_only(options.filter.processes));
    RecordPrinters printers(options, object, frame_names);
    EventReader events(object.handle(), options.format, output, stop, options.buffer,
                       views.records ? printing(views.records(*object.types())) : printers.maker());
    if (options.format == Format::kRaw) check_raw(events, output);
    // What probeload reads for their frames would else be hits of its own.
    if (options.folded || has_stacks(object.handle())) symbolizer.kallsyms();
    if (options.limit != 0) events.set_limit(options.limit);
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    Running running(options, targets, others, device ? &*device : nullptr, symbolizer, stop);
    const std::vector<Attachment>& attachments = running.attachments();
    // Events come already, and the reader of stdout may take none.
    if (options.seconds) stop.request_after(*options.seconds + kSettled);
    print_attached(attachments, events, output, stop, symbolizer);
    const UniqueFd names = keep_module_names(attachments, symbolizer);
    if (device) tell_what_is_off(*device);
    std::optional<Life> life;
    life.emplace();

    if (options.command && stop.requested()) fail_before_command(options, stop);
    if (options.command) child.emplace(start_command(*options.command));
    if (options.seconds) stop.request_after(*options.seconds);
    Ticker ticker = options.interval ? Ticker(*options.interval) : Ticker();
    const auto snapshot = [&, since = Clock::now()] {
        events.read();
        Summary now;
        now.seconds = std::chrono::duration<double>(Clock::now() - since).count();
        now.attachments = running.snapshot(symbolizer);
        add_results(object, events, running, now);
        if (views.distributions)
            now.distributions = views.distributions(object.handle(), symbolizer);
        if (!views.results && !options.folded) add_maps(object, events, false, frame_names, now);
        return now;
    };
    const auto show = [&] {
        const bool ticked = ticker.take(), wished = wish.take();
        if (!ticked && !wished) return;
        if (views.results) return views.results(object.handle(), output, symbolizer, false);
        if (options.folded) print_folded(printers.folded().all(), output);
        print_summary(snapshot(), options.format, output, symbolizer);
        if (ticked && options.clear) clear_results(object.handle());
    };
    NumbersWatch numbers(views.numbers, snapshot);
    LossWatch losses([&] { return count_losses(object, events, running); });
    const EndCause cause = run_event_loop(events, output, stop, child ? child->fd() : -1,
                                          {running.sessions().watched(),
                                           losses.watched(),
                                           numbers.watched(),
                                           {wish.fd(), show},
                                           {life->fd(), [&life] { life->show(); }},
                                           {ticker.fd(), show}});

    life.reset();
    Summary summary;
    summary.command_status = end_of(child, cause == EndCause::kCommand, events);
    summary.attachments = running.stop(symbolizer);
    events.drain();
    running.sessions().end();
    running.detach();
    if (views.results) views.results(object.handle(), output, symbolizer, true);
    add_results(object, events, running, summary);
    if (options.folded) print_stacks(printers.folded(), output);
    if (!views.results && !options.folded) add_maps(object, events, true, frame_names, summary);
    if (views.distributions)
        summary.distributions = views.distributions(object.handle(), symbolizer);
    if (views.numbers) views.numbers(summary);
    if (views.ended) views.ended(summary, symbolizer);
    print_summary(summary, options.format, output, symbolizer);
    return exit_status(options, summary);
}

}  // namespace djprobe::loader
