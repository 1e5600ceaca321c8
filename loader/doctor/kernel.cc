// SPDX-License-Identifier: GPL-2.0
#include <djprobe_tested.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>

#include "doctor/examine.h"

namespace djprobe::loader::doctor {
namespace {

Finding examine_release(const Machine& machine) {
    const std::string& release = machine.release();
    if (djprobe_is_tested(release.c_str()))
        return {"kernel", Health::Ok, release + ", of a series that djprobe is tested on"};
    return {"kernel", Health::Note,
            release +
                ": djprobe's tests have never run on it; the module refuses to load where "
                "it cannot prove what it relies on"};
}

// What the module cannot load without.
constexpr std::array<std::string_view, 7> kNeeded = {
    "CONFIG_MODULES",     "CONFIG_KALLSYMS", "CONFIG_KPROBES",   "CONFIG_DYNAMIC_FTRACE_WITH_REGS",
    "CONFIG_BPF_SYSCALL", "CONFIG_BPF_JIT",  "CONFIG_BPF_EVENTS"};
constexpr std::array<std::string_view, 2> kRefused = {"CONFIG_CFI_CLANG", "CONFIG_CFI"};

std::optional<std::string> read_configuration(const Machine& machine) {
    for (const char* pattern : {"/boot/config-{}", "/lib/modules/{}/config"})
        if (auto text = machine.file(fmt::format(fmt::runtime(pattern), machine.release())))
            return text;
    return {};
}

bool is_set(const std::string& configuration, std::string_view option) {
    return ("\n" + configuration).find(fmt::format("\n{}=y", option)) != std::string::npos;
}

Finding examine_configuration(const Machine& machine) {
    const auto configuration = read_configuration(machine);
    if (!configuration)
        return {"configuration", Health::Note,
                fmt::format("/boot/config-{} cannot be read; the module checks what it needs when "
                            "it loads",
                            machine.release())};
    std::vector<std::string_view> missing, unwanted;
    for (const std::string_view option : kNeeded)
        if (!is_set(*configuration, option)) missing.push_back(option);
    for (const std::string_view option : kRefused)
        if (is_set(*configuration, option)) unwanted.push_back(option);
    if (!missing.empty())
        return {"configuration", Health::Bad,
                fmt::format("this kernel is built without {}: boot one that has it, as Debian's do",
                            fmt::join(missing, ", "))};
    if (!unwanted.empty())
        return {"configuration", Health::Bad,
                fmt::format("this kernel is built with {}: boot one without it, as Debian's are",
                            fmt::join(unwanted, ", "))};
    return {"configuration", Health::Ok, "has what the module needs"};
}

Finding examine_btf(const Machine& machine) {
    if (machine.has("/sys/kernel/btf/vmlinux"))
        return {"BTF", Health::Ok, "/sys/kernel/btf/vmlinux"};
    if (!machine.has("/sys/kernel")) return {"BTF", Health::Note, "cannot be seen without /sys"};
    return {"BTF", Health::Note,
            "no /sys/kernel/btf/vmlinux: programs that include vmlinux.h or use CO-RE need a "
            "kernel with CONFIG_DEBUG_INFO_BTF"};
}

// What the others look at. The kernel's types and the CPUs are told in /sys.
Findings examine_mounts(const Machine& machine) {
    Findings findings;
    if (!machine.has("/sys/kernel"))
        findings.push_back(
            {"/sys", Health::Bad, "is missing: attach needs it", "mount -t sysfs none /sys"});
    if (!machine.has("/proc/sys/kernel"))
        findings.push_back({"/proc", Health::Note,
                            "is missing: list and run need it, and settings cannot be seen",
                            "mount -t proc proc /proc"});
    return findings;
}

// The module needs CONFIG_KPROBES, whether or not the configuration can be read; the kernel's own
// probes need more.
Finding examine_kprobes(const Machine& machine) {
    if (!machine.has("/sys/bus/event_source/devices"))
        return {"kprobes", Health::Note, "cannot be seen without /sys"};
    if (machine.has("/sys/bus/event_source/devices/kprobe"))
        return {"kprobes", Health::Ok, "serve where djprobe does not"};
    return {"kprobes", Health::Bad,
            "this kernel is built without CONFIG_KPROBES or CONFIG_KPROBE_EVENTS: boot one that "
            "has them, as Debian's do"};
}

Finding examine_ftrace(const Machine& machine) {
    if (machine.line("/proc/sys/kernel/ftrace_enabled").value_or("1") != "0")
        return {"ftrace", Health::Ok, "on"};
    return {"ftrace", Health::Bad, "off: the module does not load without it",
            "sysctl kernel.ftrace_enabled=1"};
}

Finding examine_jit(const Machine& machine) {
    if (machine.line("/proc/sys/net/core/bpf_jit_enable").value_or("1") != "0")
        return {"JIT", Health::Ok, "BPF programs are compiled"};
    return {"JIT", Health::Note, "off: each hit interprets its program, which is slow",
            "sysctl net.core.bpf_jit_enable=1"};
}

}  // namespace

Findings examine_kernel(const Machine& machine) {
    Findings findings = examine_mounts(machine);
    for (const auto examine_one : {examine_release, examine_configuration, examine_btf,
                                   examine_kprobes, examine_ftrace, examine_jit})
        findings.push_back(examine_one(machine));
    return findings;
}

}  // namespace djprobe::loader::doctor
