// SPDX-License-Identifier: GPL-2.0
// What happens to the machine meanwhile: CPUs, modules and memory come and go.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "../probes/harness/probe.h"
#include "storm.h"

namespace djprobe::vm {
namespace {

// All but the first CPU go and come.
std::string cpu_file(uint64_t cpu) {
    return "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online";
}
bool hotplug(std::mt19937_64& dice) {
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
    return true;
}
void hotplug_calm() {
    for (uint64_t cpu = 1; cpu < 4; ++cpu)
        write_file(cpu_file(cpu), "1");
}

// A module that is probed comes and goes.
constexpr const char* kModule = "binfmt_misc";
constexpr const char* kFolder = "/tmp/storm-binfmt";
bool module(std::mt19937_64& dice) {
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
    return true;
}
void module_calm() {
    umount(kFolder);
    syscall(SYS_delete_module, kModule, 0);
}

// What is free is taken and given back; the rest of the guest has to reclaim.
bool memory(std::mt19937_64& dice) {
    const size_t size = (64 + dice() % 256) << 20;
    void* const taken =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(taken != MAP_FAILED, "mmap");
    for (size_t at = 0; at < size; at += 4096)
        static_cast<char*>(taken)[at] = 1;
    munmap(taken, size);
    write_file("/proc/sys/vm/drop_caches", "3");
    write_file("/proc/sys/vm/compact_memory", "1");
    return true;
}
void nothing() {}

// Where the kernel may be preempted: static calls and jump labels all over it.
constexpr const char* kPreemption = "/sys/kernel/debug/sched/preempt";
bool preempt(std::mt19937_64& dice) {
    static const char* const modes[] = {"none", "voluntary", "full", "lazy"};
    // Not every kernel has all, but this one has "full".
    while (!write_file(kPreemption, modes[dice() % 4])) {
    }
    usleep(dice() % 50'000);
    return true;
}
void preempt_calm() {
    write_file(kPreemption, "full");
}

constexpr Wind kWinds[] = {
    {"hotplug", hotplug, hotplug_calm},
    {"module", module, module_calm},
    {"memory", memory, nothing},
    {"preempt", preempt, preempt_calm},
};

}  // namespace

std::span<const Wind> machine_winds() {
    return kWinds;
}

}  // namespace djprobe::vm
