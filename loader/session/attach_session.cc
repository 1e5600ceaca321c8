// SPDX-License-Identifier: GPL-2.0
#include "session/attach_session.h"

#include <djprobe_tested.h>
#include <fmt/core.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "base/child.h"
#include "base/error.h"
#include "base/output.h"
#include "base/say.h"
#include "base/snapshot_signal.h"
#include "base/stop_signals.h"
#include "events/map_dump.h"
#include "events/reader.h"
#include "kernel/device.h"
#include "object/object.h"
#include "session/attachment.h"
#include "session/command.h"
#include "session/event_loop.h"
#include "session/session_watch.h"
#include "session/site_names.h"
#include "session/summary.h"
#include "session/targets.h"

namespace djprobe::loader {
namespace {

using namespace std::chrono_literals;

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

// No program runs any more: counters and records are of one moment.
void stop_probes(const std::vector<Attachment>& attachments, Summary& summary,
                 Symbolizer& symbolizer) {
    for (const Attachment& attachment : attachments)
        summary.attachments.push_back(attachment.report());
    for (const Attachment& attachment : attachments)
        attachment.disable();
    run_out();
    for (std::size_t i = 0; i < attachments.size(); ++i)
        attachments[i].complete(summary.attachments[i], symbolizer);
}

std::uint64_t total_hits(const std::vector<AttachmentReport>& reports) {
    std::uint64_t hits = 0;
    for (const AttachmentReport& report : reports)
        hits += report.total.hits;
    return hits;
}

Loss find_loss(const Object& object, const EventReader& events, std::uint64_t hits) {
    if (!events.has_ring_buffer()) return Loss{events.lost_by_perf(), 0};
    if (const auto counted = counted_by_program(object.handle())) {
        return Loss{*counted + events.lost_by_perf(), 0};
    }
    return Loss{std::nullopt, hits > events.received() ? hits - events.received() : 0};
}

// What the maps and the events tell so far.
void add_results(const Object& object, const EventReader& events, Summary& summary) {
    summary.received = events.received();
    if (events.has_sources())
        summary.loss = find_loss(object, events, total_hits(summary.attachments));
    summary.maps =
        dump_maps(object.handle(), events.has_sources() ? MapValues::kCounters : MapValues::kAny);
}

// As a shell has it.
int status_of_command(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int exit_status(const AttachOptions& options, const std::optional<int>& command_status) {
    if (command_status && options.exit_status) return status_of_command(*command_status);
    return command_exit_status(command_status);
}

}  // namespace

void note_untested_kernel() {
    utsname name;
    if (uname(&name) == 0 && !djprobe_is_tested(name.release))
        say("probeload: {} is none of the kernels that djprobe's tests have run on\n",
            name.release);
}

int run_attach(const AttachOptions& options) {
    StopSignals stop;
    SnapshotSignal wish;
    Output output(STDOUT_FILENO, &stop);
    Symbolizer symbolizer;

    // Cheap and certain errors first: the command line, the file, then the kernel.
    Object object = Object::open(options.file, options.verbose);
    const Several several = options.sites.empty() ? Several::kTakeAll
                            : options.session     ? Several::kTakeAllNoPlace
                                                  : Several::kRefuse;
    const std::vector<Target> targets =
        choose_targets(options, object.choose(options.program, several));
    const Device device = Device::open();
    note_untested_kernel();
    stop.check();
    object.load();

    EventReader events(object.handle(), options.format, output, stop);
    if (options.format == Format::kRaw) check_raw(events, output);
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    std::vector<Attachment> attachments;
    attachments.reserve(targets.size());
    SessionWatch sessions(options.session);
    for (const Target& target : targets) {
        attachments.push_back(Attachment::attach(target, options, device, symbolizer, stop));
        if (target.entry) sessions.add(*target.entry, target.program, attachments.back());
    }
    // Events come already, and the reader of stdout may take none.
    if (options.seconds) stop.request_after(*options.seconds + kSettled);
    print_attached(attachments, events, output, stop, symbolizer);
    const UniqueFd names = keep_module_names(attachments, symbolizer);
    for (const std::string& line : what_is_off(device.set_switches(0, 0)))
        say("probeload: {}\n", line);

    if (options.command && stop.requested()) fail_before_command(options, stop);
    if (options.command) child.emplace(start_command(*options.command));
    if (options.seconds) stop.request_after(*options.seconds);
    const auto show = [&, since = std::chrono::steady_clock::now()] {
        if (!wish.take()) return;
        events.read();
        Summary snapshot;
        snapshot.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
        for (const Attachment& attachment : attachments)
            snapshot.attachments.push_back(attachment.snapshot(symbolizer));
        add_results(object, events, snapshot);
        print_summary(snapshot, options.format, output, symbolizer);
    };
    const EndCause cause = run_event_loop(events, output, stop, child ? child->fd() : -1,
                                          {sessions.watched(), {wish.fd(), show}});

    Summary summary;
    summary.command_status = end_of(child, cause == EndCause::kCommand, events);
    stop_probes(attachments, summary, symbolizer);
    events.drain();
    sessions.end();
    attachments.clear();
    add_results(object, events, summary);
    print_summary(summary, options.format, output, symbolizer);
    return exit_status(options, summary.command_status);
}

}  // namespace djprobe::loader
