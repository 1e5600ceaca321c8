// SPDX-License-Identifier: GPL-2.0
#include "cli/attach.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "cli/checks.h"
#include "cli/metrics_options.h"
#include "cli/modes.h"
#include "cli/number_option.h"
#include "session/attach_session.h"

namespace djprobe::loader {
namespace {

constexpr const char* kAttachFooter = R"(Examples:
  probeload attach --func vfs_read vfs_read.bpf.o
      events of every vfs_read() call, until Ctrl-C
  probeload attach --func vfs_read+0x2b --func ext4:ext4_readdir -d 5 -j x.bpf.c
      two sites for five seconds, a handler compiled on the fly, NDJSON
  probeload attach -c 'cat /etc/passwd' vfs_read.bpf.o
      the site from SEC("kprobe/vfs_read"), while the command runs

  probeload attach --func vfs_read --ret count.bpf.o
      at every return of vfs_read(); SEC("kretprobe/vfs_read") says the same
      without options
  probeload attach vfs_latency.bpf.o
      all programs of the object, each where its section says
  probeload attach --func vfs_write vfs_latency.bpf.o
      the same programs, one at the entry, one at the returns of vfs_write()
  probeload attach --at on_entry=vfs_open --at on_return=vfs_read x.bpf.o
      each program at its own place
  probeload attach --session -d 5 vfs_session.bpf.o
      entry and return of a function as one, with what the former keeps for the
      latter
  probeload attach --session --func 'ext4_*' -d 5 vfs_session.bpf.o
      the same programs, for other functions
  probeload attach --func 'vfs_*' -d 5 count.bpf.o
      the entries of all functions of such a name, as SEC("kprobe.multi/vfs_*")
      says, too; the summary has the ten with the most hits (--top N)
  generate | probeload attach --func vfs_read -
      a handler's source, or an object, from stdin
  probeload attach --func 'tcp_*' --ret -d 5 count.bpf.o
      their returns, those that only shadow mode sees included
  probeload attach --pid 4242 --comm worker vfs_read.bpf.o
      only hits of one process' threads of that name
  probeload attach --folded -d 5 stacks.bpf.o | flamegraph.pl >stacks.svg
      the stacks that the program keeps
  probeload attach --type events=tool.h:'struct event' tool.bpf.o
      events whose type the object does not name

Examples of programs lie in /usr/share/djprobe/examples (or where cmake has
installed them, /usr/local/share/djprobe/examples): vfs_read.bpf.o, count.bpf.o.

With --session the value (64 bits) that the entry's program returns is the
call's cookie; of a call whose cookie is 0 the return is not seen. If that is so
of all calls, a line says it after two seconds, and at the end. The return's
program finds the cookie as its first argument (PT_REGS_PARM1), the time of the
entry (bpf_ktime_get_ns) as its second. Always in shadow mode.

--pid, --tid, --uid, --comm and --cgroup stand in front of all programs of FILE,
in the kernel: of each option that is given one value must be that of the
current task. Where not, the program returns 0 without having run: the hit
counts as one. A program for user space sees all tasks, and a line says so.

Frames of the kernel have function and offset, those of processes also file and
build id, where it is known which process it is: from a member 'tgid' or 'pid'
beside the stack, or by one --pid. Stacks are arrays of 64-bit numbers with
'stack' in their name, and of struct bpf_stack_build_id. --folded adds up those
in events, and hash maps whose key has a stack, or the number of one in a stack
map ('kern_stack_id'); the first integer of the value is the count.

At the end the global variables that are not zero and the array, hash, queue and
stack maps are printed: all entries of a map with room for 16, of a larger one
those that are not zero, 64 at most; beside events only those that hold numbers.
An array 'slots' or 'hist' of counts is drawn as a histogram. Behind them the
summary tells of hits, misses and lost events, and how COMMAND ended. That does
not change the exit status, but for 126 and 127, by which a shell says that it
could not run a command. With --exit-status it is COMMAND's, 128 and the number
of a signal that ended it; an error of probeload itself still has its own, and a
line of stderr that tells it.

SIGUSR1 (kill -USR1 PID) and --interval show the maps and counters as they are,
as the summary does at the end: text to stderr, with -j a line 'snapshot'.
--clear empties the maps and sets the variables of .bss to 0 then; counters of
hits go on. What the program keeps in a map from entry to return is lost, too.

Events go to stdout, all else to stderr (also the output of COMMAND). A ring
buffer named 'events' holds records of 'struct event' (or struct events,
events_t, event_t). Lost events are counted by the program in a global
'__u64 lost'. With --raw each record comes as two 32-bit numbers in the
machine's byte order, its length in bytes and the index of its map (0 if there
is one), and then its bytes. Those of a perf event array are as the kernel pads
them, up to 7 bytes more than were sent; what is lost there the kernel counts.
)";

std::uint64_t parse_cookie(const std::string& text) {
    if (const auto cookie = parse_unsigned(text)) return *cookie;
    fail(ExitCode::kUsage, "--cookie: '{}' is no number of 64 bits, decimal or 0x-hexadecimal",
         text);
}

// Twice at one place would count every hit twice.
void add_site(std::vector<SiteSpec>& sites, const SiteSpec& site) {
    if (std::ranges::find(sites, site) == sites.end())
        sites.push_back(site);
    else
        say("probeload: {} is given twice: attached once\n", site.str());
}

void add_place(std::vector<PlaceOption>& places, const PlaceOption& place) {
    if (std::ranges::find(places, place) == places.end())
        places.push_back(place);
    else
        say("probeload: {}={} is given twice: attached once\n", place.name, place.place);
}

bool parse_others(std::string_view text) {
    if (text == "native") return true;
    if (text == "none") return false;
    fail(ExitCode::kUsage, "--others: '{}' is neither native nor none", text);
}

void add_numbers(CLI::App& command, const char* name, std::vector<std::uint32_t>& numbers,
                 const char* about, std::uint64_t most) {
    command
        .add_option_function<std::vector<std::string>>(
            name,
            [&numbers](const std::vector<std::string>& texts) {
                for (const std::string& text : texts)
                    numbers.push_back(static_cast<std::uint32_t>(parse_unsigned(text).value()));
            },
            about)
        ->type_name("N")
        ->allow_extra_args(false)
        ->check(whole_number(0, most));
}

void add_filters(CLI::App& command, FilterOptions& filter) {
    add_numbers(command, "--pid", filter.processes, "Only hits of this process; may be repeated",
                kMostTasks);
    add_numbers(command, "--tid", filter.tasks, "Only those of this thread; may be repeated",
                kMostTasks);
    add_numbers(command, "--uid", filter.users, "Only those of this user; may be repeated",
                UINT32_MAX);
    command
        .add_option("--comm", filter.names,
                    "Only those of threads of this name, no pattern; may be repeated")
        ->type_name("NAME")
        ->allow_extra_args(false)
        ->check(not_empty);
    command
        .add_option("--cgroup", filter.cgroups,
                    "Only those in this control group (v2) and below; may be repeated")
        ->type_name("PATH")
        ->allow_extra_args(false)
        ->check(not_empty);
    filter.exclude = Exclude::kFeedback;
    auto* const without = command.add_flag_callback(
        "--exclude-self", [&filter] { filter.exclude = Exclude::kSelf; },
        "Not those of probeload and of who reads its output; default for events into a pipe");
    command
        .add_flag_callback(
            "--include-self", [&filter] { filter.exclude = Exclude::kNone; }, "Those, too")
        ->excludes(without);
}

void add_options(CLI::App& command, AttachOptions& options, MetricsOptions& metrics) {
    command
        .add_option_function<std::vector<std::string>>(
            "-f,--func",
            [&options](const std::vector<std::string>& functions) {
                for (const std::string& text : functions) {
                    add_site(options.sites, parse_function(text));
                }
            },
            "Probe SYM, SYM+OFFSET, MODULE:SYM or all functions like a GLOB; may be repeated")
        ->type_name("SYM[+OFF]")
        ->allow_extra_args(false);
    command
        .add_option_function<std::vector<std::string>>(
            "--address",
            [&options](const std::vector<std::string>& addresses) {
                for (const std::string& text : addresses) {
                    add_site(options.sites, parse_address(text));
                }
            },
            "Probe a kernel address; may be repeated")
        ->type_name("0xADDRESS")
        ->allow_extra_args(false);
    command.add_flag("--ret", options.at_returns,
                     "At every return of the function (implied by SEC(\"kretprobe\"))");
    command
        .add_option_function<std::string>(
            "--ret-mode",
            [&options](const std::string& text) { options.return_mode = parse_return_mode(text); },
            "exact: probes at the returns themselves; shadow: the return address is replaced at "
            "the entry, which sees tail calls, too; auto: exact, else shadow (default)")
        ->type_name("auto|exact|shadow");
    command.add_flag("--session", options.session,
                     "SEC(\"kprobe/SYM\") and SEC(\"kretprobe/SYM\") are one, see below");
    command.add_option("--prog", options.programs, "Only this program; may be repeated")
        ->type_name("NAME")
        ->allow_extra_args(false)
        ->check(not_empty);
    command
        .add_option_function<std::vector<std::string>>(
            "--at",
            [&options](const std::vector<std::string>& places) {
                for (const std::string& text : places)
                    add_place(options.places, parse_place_option(text));
            },
            "Where a program of FILE goes, or all whose section names PROG; may be repeated")
        ->type_name("PROG=SITE")
        ->allow_extra_args(false);
    command
        .add_option_function<std::string>(
            "--others",
            [&options](const std::string& text) { options.others_too = parse_others(text); },
            "Programs that are no kprobes: native: libbpf attaches them (default); none: an error")
        ->type_name("native|none");
    command.add_flag("--skip-unsupported", options.skip_unsupported,
                     "Leave out what cannot run here, and say so, instead of an error");
    command
        .add_option("--set", options.globals,
                    "A global variable of FILE, before it is loaded; may be repeated")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    command
        .add_option("--map", options.maps,
                    "A map's max_entries or value_size, before it is made; may be repeated")
        ->type_name("NAME.max_entries=N")
        ->allow_extra_args(false);
    add_filters(command, options.filter);
    command
        .add_option_function<std::string>(
            "--cookie",
            [&options](const std::string& text) { options.cookie = parse_cookie(text); },
            "What bpf_get_attach_cookie() returns")
        ->type_name("N");
    command
        .add_option_function<std::string>(
            "--mode", [&options](const std::string& text) { options.mode = parse_mode(text); },
            "auto: a jump where it is safe (default); int3: never a jump")
        ->type_name("auto|int3");
    add_backend(command, options.backend);
    command.add_option("-d,--duration", options.seconds, "Stop after so many seconds")
        ->type_name("SECONDS")
        ->check(positive);
    auto* const interval =
        command.add_option("-i,--interval", options.interval,
                           "Show maps and counters each time so many seconds have passed");
    interval->type_name("SECONDS")->check(positive);
    command.add_flag("--clear", options.clear, "Empty the maps after each of these")
        ->needs(interval);
    add_number(command, "--limit", options.limit, "Stop after so many events", 1, UINT64_MAX);
    auto* const run = command.add_option("-c,--command", options.command,
                                         "Run by /bin/sh once attached; stop at its end");
    run->type_name("COMMAND")->check(not_empty);
    command.add_flag("--exit-status", options.exit_status, "End with COMMAND's exit status")
        ->needs(run);
    command.add_flag("--strict", options.strict,
                     "End with 14 where events were lost, or hits missed");
    command
        .add_option_function<std::string>(
            "--buffer",
            [&options](const std::string& text) { options.buffer = parse_buffer_size(text); },
            "Bytes of each ring buffer and, for each CPU, perf buffer: 64K, 1M")
        ->type_name("SIZE")
        ->check(buffer_size);
    add_number(command, "--top", options.top,
               "Of a GLOB's sites, tell of so many that were hit most (default 10)", 0, 1'000'000);
    command
        .add_option_function<std::vector<std::string>>(
            "--type",
            [&options](const std::vector<std::string>& texts) {
                for (const std::string& text : texts)
                    options.event_types.push_back(parse_event_type(text));
            },
            "Type of a map's events, from a header; may be repeated")
        ->type_name("MAP=FILE.h:TYPE")
        ->allow_extra_args(false);
    auto* const folded =
        command.add_flag("--folded", options.folded,
                         "Stacks added up, for a flame graph, in place of events and maps");
    auto* const json = command.add_flag_callback(
        "-j,--json", [&options] { options.format = Format::kJson; },
        "Events and summary as NDJSON");
    json->excludes(folded);
    command
        .add_flag_callback(
            "-r,--raw", [&options] { options.format = Format::kRaw; },
            "Events as the program wrote them, see below")
        ->excludes(json)
        ->excludes(folded);
    command.add_flag("-v,--verbose", options.verbose, "Show what libbpf says");
    add_metrics_options(command, metrics, "hits, misses, events and maps");
    command
        .add_option("FILE", options.file, "BPF object (.bpf.o) or its source (.bpf.c); - for stdin")
        ->type_name("")
        ->required();
}

}  // namespace

Command add_attach(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("attach", "Run a BPF program at sites of the kernel");
    command->footer(kAttachFooter);
    const auto options = std::make_shared<AttachOptions>();
    const auto metrics = std::make_shared<MetricsOptions>();
    add_options(*command, *options, *metrics);
    return {command,
            [options, metrics] {
                return run_with_metrics(*metrics, [&](const Numbers& numbers) {
                    Views views;
                    views.numbers = numbers;
                    return run_attach(*options, views);
                });
            },
            {std::begin(kAllExitCodes), std::end(kAllExitCodes)}};
}

}  // namespace djprobe::loader
