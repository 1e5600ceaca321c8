// SPDX-License-Identifier: GPL-2.0
// What the kernel itself, and other tools, do to the same text and the same stacks.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <vector>

#include "../probes/harness/probe.h"
#include "storm.h"

namespace djprobe::vm {
namespace {

const std::string kTracing = "/sys/kernel/tracing/";

// The function tracer on the functions that we probe.
bool ftrace(std::mt19937_64& dice) {
    static const char* const filters[] = {"__x64_sys_getpgid", "do_getpgid", "vfs_read",
                                          "__x64_sys_pread64", "*getpgid*",  "cmdline_proc_show"};
    must(write_file(kTracing + "set_ftrace_filter", filters[dice() % 6]), "set_ftrace_filter");
    must(write_file(kTracing + "current_tracer", "function"), "current_tracer");
    usleep(dice() % 20'000);
    must(write_file(kTracing + "current_tracer", "nop"), "current_tracer");
    return true;
}
void ftrace_calm() {
    write_file(kTracing + "current_tracer", "nop");
    write_file(kTracing + "set_ftrace_filter", "");
    write_file(kTracing + "trace", "");
}

// Kprobes of the kernel, at and around our sites. It may refuse what we hold.
bool kprobes(std::mt19937_64& dice) {
    static const char* const places[] = {"do_getpgid", "vfs_read",     "__x64_sys_pread64",
                                         "vfs_read+9", "do_getpgid+9", "rw_verify_area"};
    const std::string name = "storm" + std::to_string(dice() % 4);
    if (!write_file(kTracing + "kprobe_events", "p:" + name + " " + places[dice() % 6]))
        return false;
    const std::string enable = kTracing + "events/kprobes/" + name + "/enable";
    const bool enabled = write_file(enable, "1");
    usleep(dice() % 20'000);
    must(write_file(enable, "0"), enable.c_str());
    must(write_file(kTracing + "kprobe_events", "-:" + name), "kprobe_events");
    return enabled;
}
void kprobes_calm() {
    write_file(kTracing + "events/kprobes/enable", "0");
    write_file(kTracing + "kprobe_events", "");
    write_file(kTracing + "trace", "");
}

// Jump labels, and the static calls of tracepoints.
bool labels(std::mt19937_64& dice) {
    static const char* const events[] = {"sched/sched_switch", "syscalls/sys_enter_getpgid",
                                         "irq/softirq_entry", "timer/hrtimer_expire_entry"};
    must(write_file("/proc/sys/kernel/bpf_stats_enabled", "1"), "bpf_stats_enabled");
    must(write_file("/proc/sys/kernel/sched_schedstats", "1"), "sched_schedstats");
    const std::string event = kTracing + "events/" + events[dice() % 4] + "/enable";
    const bool traced = write_file(event, "1");
    usleep(dice() % 10'000);
    write_file(event, "0");
    must(write_file("/proc/sys/kernel/sched_schedstats", "0"), "sched_schedstats");
    must(write_file("/proc/sys/kernel/bpf_stats_enabled", "0"), "bpf_stats_enabled");
    return traced;
}
void labels_calm() {
    write_file(kTracing + "events/enable", "0");
    write_file(kTracing + "trace", "");
}

// perf: kprobes of its own, and what every CPU does, with stacks, also those inside our detours.
Fd open_perf(perf_event_attr& attr, int cpu) {
    attr.size = sizeof attr;
    attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN;
    return Fd(static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0)));
}
bool perf(std::mt19937_64& dice) {
    std::vector<Fd> events;
    // A CPU that is offline has none.
    for (int cpu = 0; cpu < static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)); ++cpu) {
        perf_event_attr clock = {};
        clock.type = PERF_TYPE_SOFTWARE;
        clock.config = PERF_COUNT_SW_CPU_CLOCK;
        clock.freq = 1;
        clock.sample_freq = 4000;
        events.push_back(open_perf(clock, cpu));
    }
    must(static_cast<bool>(events[0]), "perf: cpu-clock");
    static const char* const functions[] = {"do_getpgid", "vfs_read", "rw_verify_area"};
    perf_event_attr kprobe = {};
    std::ifstream("/sys/bus/event_source/devices/kprobe/type") >> kprobe.type;
    kprobe.kprobe_func = reinterpret_cast<uintptr_t>(functions[dice() % 3]);
    kprobe.sample_period = 1;
    // The kernel may refuse what we hold.
    events.push_back(open_perf(kprobe, 0));
    usleep(dice() % 20'000);
    return static_cast<bool>(events.back());
}
void nothing() {}

// A live patch comes for good, which needs every task's stack to be understood, and goes.
constexpr const char* kPatch = "djlivepatch";
const std::string kPatchState = "/sys/kernel/livepatch/djlivepatch/";

std::string first_line(const std::string& path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}
void within_a_minute(const char* what, bool (*done)()) {
    for (int tries = 0; !done(); ++tries) {
        if (tries == 6000) throw std::runtime_error(std::string("livepatch: never ") + what);
        usleep(10'000);
    }
}
void unload_patch() {
    within_a_minute("disabled", [] {
        return write_file(kPatchState + "enabled", "0") || access(kPatchState.c_str(), F_OK);
    });
    within_a_minute("left by all tasks", [] { return access(kPatchState.c_str(), F_OK) != 0; });
    within_a_minute("unloaded", [] { return syscall(SYS_delete_module, kPatch, 0) == 0; });
}
bool livepatch(std::mt19937_64& dice) {
    const std::string original = first_line("/proc/cmdline");
    const Fd file(open("djlivepatch.ko", O_RDONLY | O_CLOEXEC));
    must(syscall(SYS_finit_module, file.get(), "", 0) == 0, kPatch);
    within_a_minute("taken by all tasks",
                    [] { return first_line(kPatchState + "transition") == "0"; });
    for (uint64_t reads = dice() % 50; reads; --reads)
        must(first_line("/proc/cmdline") == "livepatched", "livepatch: an old function ran");
    unload_patch();
    must(first_line("/proc/cmdline") == original, "livepatch: its function ran without it");
    return true;
}
void livepatch_calm() {
    if (!access(kPatchState.c_str(), F_OK)) unload_patch();
}

constexpr Wind kWinds[] = {
    {"ftrace", ftrace, ftrace_calm},          {"kprobes", kprobes, kprobes_calm},
    {"labels", labels, labels_calm},          {"perf", perf, nothing},
    {"livepatch", livepatch, livepatch_calm},
};

}  // namespace

std::span<const Wind> text_winds() {
    return kWinds;
}

}  // namespace djprobe::vm
