// SPDX-License-Identifier: GPL-2.0
// What the kernel itself, and other tools, do to the same text.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "../probes/probe.h"
#include "storm.h"

namespace djprobe::vm {
namespace {

const std::string kTracing = "/sys/kernel/tracing/";

void must(bool done, const char* what) {
    if (!done) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

// The function tracer on the functions that we probe.
void ftrace(std::mt19937_64& dice) {
    static const char* const filters[] = {"__x64_sys_getpgid", "do_getpgid", "vfs_read",
                                          "__x64_sys_pread64", "*getpgid*"};
    must(write_file(kTracing + "set_ftrace_filter", filters[dice() % 5]), "set_ftrace_filter");
    must(write_file(kTracing + "current_tracer", "function"), "current_tracer");
    usleep(dice() % 20'000);
    must(write_file(kTracing + "current_tracer", "nop"), "current_tracer");
}
void ftrace_calm() {
    write_file(kTracing + "current_tracer", "nop");
    write_file(kTracing + "set_ftrace_filter", "");
    write_file(kTracing + "trace", "");
}

// Kprobes of the kernel, at and around our sites. It may refuse what we hold.
void kprobes(std::mt19937_64& dice) {
    static const char* const places[] = {"do_getpgid", "vfs_read",     "__x64_sys_pread64",
                                         "vfs_read+9", "do_getpgid+9", "rw_verify_area"};
    const std::string name = "storm" + std::to_string(dice() % 4);
    if (!write_file(kTracing + "kprobe_events", "p:" + name + " " + places[dice() % 6])) return;
    const std::string enable = kTracing + "events/kprobes/" + name + "/enable";
    write_file(enable, "1");
    usleep(dice() % 20'000);
    must(write_file(enable, "0"), enable.c_str());
    must(write_file(kTracing + "kprobe_events", "-:" + name), "kprobe_events");
}
void kprobes_calm() {
    write_file(kTracing + "events/kprobes/enable", "0");
    write_file(kTracing + "kprobe_events", "");
    write_file(kTracing + "trace", "");
}

// Jump labels, and the static calls of tracepoints.
void labels(std::mt19937_64& dice) {
    static const char* const events[] = {"sched/sched_switch", "syscalls/sys_enter_getpgid",
                                         "irq/softirq_entry", "timer/hrtimer_expire_entry"};
    must(write_file("/proc/sys/kernel/bpf_stats_enabled", "1"), "bpf_stats_enabled");
    must(write_file("/proc/sys/kernel/sched_schedstats", "1"), "sched_schedstats");
    const std::string event = kTracing + "events/" + events[dice() % 4] + "/enable";
    write_file(event, "1");
    usleep(dice() % 10'000);
    write_file(event, "0");
    must(write_file("/proc/sys/kernel/sched_schedstats", "0"), "sched_schedstats");
    must(write_file("/proc/sys/kernel/bpf_stats_enabled", "0"), "bpf_stats_enabled");
}
void labels_calm() {
    write_file(kTracing + "events/enable", "0");
    write_file(kTracing + "trace", "");
}

// All but the first CPU go and come.
std::string cpu_file(uint64_t cpu) {
    return "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online";
}
void hotplug(std::mt19937_64& dice) {
    const std::string file = cpu_file(1 + dice() % 3);
    if (access(file.c_str(), F_OK)) throw std::runtime_error("hotplug needs 4 CPUs");
    for (const char* state : {"0", "1"}) {
        // The kernel may be busy with another one for a moment.
        for (int tries = 0; !write_file(file, state); ++tries) {
            must(errno == EBUSY && tries < 100, file.c_str());
            usleep(10'000);
        }
        usleep(dice() % 50'000);
    }
}
void hotplug_calm() {
    for (uint64_t cpu = 1; cpu < 4; ++cpu)
        write_file(cpu_file(cpu), "1");
}

// A module that is probed comes and goes.
constexpr const char* kModule = "binfmt_misc";
constexpr const char* kFolder = "/tmp/storm-binfmt";
void module(std::mt19937_64& dice) {
    const Fd file(open("binfmt_misc.ko", O_RDONLY | O_CLOEXEC));
    must(syscall(SYS_finit_module, file.get(), "", 0) == 0, kModule);
    mkdir(kFolder, 0755);
    must(mount("none", kFolder, kModule, 0, nullptr) == 0, "mount binfmt_misc");
    const std::string status = std::string(kFolder) + "/status";
    for (uint64_t reads = dice() % 200; reads; --reads) {
        const Fd text(open(status.c_str(), O_RDONLY | O_CLOEXEC));
        char buffer[16];
        must(read(text.get(), buffer, sizeof buffer) > 0, status.c_str());
    }
    must(umount(kFolder) == 0, "umount binfmt_misc");
    // Who is attaching to it right now holds it for that long.
    for (int tries = 0; syscall(SYS_delete_module, kModule, 0); ++tries) {
        must(errno == EAGAIN && tries < 500, "delete_module");
        usleep(10'000);
    }
}
void module_calm() {
    umount(kFolder);
    syscall(SYS_delete_module, kModule, 0);
}

// What is free is taken and given back; the rest of the guest has to reclaim.
void memory(std::mt19937_64& dice) {
    const size_t size = (64 + dice() % 256) << 20;
    void* const taken =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(taken != MAP_FAILED, "mmap");
    for (size_t at = 0; at < size; at += 4096)
        static_cast<char*>(taken)[at] = 1;
    munmap(taken, size);
    write_file("/proc/sys/vm/drop_caches", "3");
    write_file("/proc/sys/vm/compact_memory", "1");
}
void nothing() {}

constexpr Wind kWinds[] = {
    {"ftrace", ftrace, ftrace_calm}, {"kprobes", kprobes, kprobes_calm},
    {"labels", labels, labels_calm}, {"hotplug", hotplug, hotplug_calm},
    {"module", module, module_calm}, {"memory", memory, nothing},
};

}  // namespace

std::span<const Wind> winds() {
    return kWinds;
}

bool write_file(const std::string& path, const std::string& text) {
    const bool clear = text.empty();
    const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC | (clear ? O_TRUNC : 0)));
    return file && (clear || write(file.get(), text.data(), text.size()) ==
                                 static_cast<ssize_t>(text.size()));
}

}  // namespace djprobe::vm
