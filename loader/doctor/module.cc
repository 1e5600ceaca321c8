// SPDX-License-Identifier: GPL-2.0
#include <fmt/core.h>

#include "base/error.h"
#include "doctor/examine.h"
#include "doctor/module_file.h"
#include "doctor/signature.h"
#include "kernel/device.h"

namespace djprobe::loader::doctor {
namespace {

// Without /sys its device is what shows it.
bool is_loaded(const Machine& machine) {
    return machine.has("/sys/module/djprobe") ||
           (!machine.has("/sys/module") && machine.has(DJPROBE_DEVICE));
}

Finding examine_file(const Machine& machine, const std::optional<ModuleFile>& file) {
    if (!file)
        return {"module file", is_loaded(machine) ? Health::Note : Health::Bad,
                fmt::format("modprobe finds no djprobe for {}: build and install it (README, 'On "
                            "your own machine')",
                            machine.release())};
    const std::string_view made_for = file->info("vermagic");
    if (file->is_readable() && !made_for.starts_with(machine.release() + " "))
        return {"module file", Health::Bad,
                fmt::format("{} is made for the kernel {}: build and install it for {}", file->path,
                            made_for.substr(0, made_for.find(' ')), machine.release())};
    return {"module file", Health::Ok, file->path};
}

bool wants_signature(const Machine& machine) {
    const std::string lockdown = machine.line("/sys/kernel/security/lockdown").value_or("[none]");
    return lockdown.find("[none]") == lockdown.npos ||
           machine.line("/sys/module/module/parameters/sig_enforce") == "Y";
}

/// efivarfs puts four bytes of attributes in front of the value.
bool has_secure_boot(const Machine& machine) {
    const auto variable =
        machine.file("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c");
    return variable && variable->size() == 5 && variable->back() == 1;
}

/// A signature by a key that the kernel lacks is none to it.
Finding examine_signer(const Machine& machine, const ModuleFile& file, const std::string& why) {
    const std::string name = signer(file.content);
    const auto known = knows_certificate(machine.file("/proc/keys").value_or(""), name);
    if (!known || name.empty())
        return {
            "signature", Health::Ok,
            fmt::format("the module has one; which keys the kernel trusts cannot be seen{}", why)};
    if (*known)
        return {"signature", Health::Ok,
                fmt::format("by '{}', whose key the kernel has{}", name, why)};
    constexpr const char* kOfDkms = "/var/lib/dkms/mok.pub";
    return {"signature", wants_signature(machine) ? Health::Bad : Health::Ok,
            fmt::format("by '{}', whose key this kernel does not have{}{}", name, why,
                        wants_signature(machine) ? ": enroll its certificate and reboot"
                                                 : "; it asks for none"),
            machine.has(kOfDkms) ? fmt::format("mokutil --import {}", kOfDkms) : ""};
}

Finding examine_signature(const Machine& machine, const ModuleFile& file) {
    const std::string why = has_secure_boot(machine) ? " (Secure Boot)" : "";
    const bool wanted = wants_signature(machine);
    if (!file.is_readable())
        return {"signature", Health::Ok, "not looked at: the file cannot be unpacked"};
    if (is_signed(file.content)) return examine_signer(machine, file, why);
    if (!wanted) return {"signature", Health::Ok, "none, and this kernel asks for none" + why};
    return {"signature", Health::Bad,
            fmt::format("none, and this kernel{} loads signed modules only: make a key "
                        "(docs/install.md)",
                        why),
            fmt::format("/lib/modules/{}/build/scripts/sign-file sha256 MOK.key MOK.der {}",
                        machine.release(), file.path)};
}

Finding examine_device(const Machine& machine) {
    if (!is_loaded(machine)) return {"module", Health::Bad, "not loaded", "modprobe djprobe"};
    const std::string version = machine.line("/sys/module/djprobe/version").value_or("?");
    try {
        (void)Device::open(machine.at(DJPROBE_DEVICE).c_str());
    } catch (const Error& error) {
        const bool stale = error.code() == ExitCode::kAbiMismatch;
        return {"module", Health::Bad, error.what(),
                stale ? "rmmod djprobe; modprobe djprobe" : ""};
    }
    return {"module", Health::Ok,
            fmt::format("version {} is loaded and speaks ABI {}", version, DJPROBE_ABI_VERSION)};
}

/// A new file that waits for the module to be loaded again.
Finding examine_age(const Machine& machine, const ModuleFile& file) {
    const auto loaded = machine.line("/sys/module/djprobe/srcversion");
    if (!loaded || !file.is_readable() || file.info("srcversion") == *loaded)
        return {"loaded build", Health::Ok, "the installed one"};
    return {"loaded build", Health::Note, fmt::format("another one than {}", file.path),
            "rmmod djprobe; modprobe djprobe"};
}

Finding examine_switches(const Machine& machine) {
    try {
        const std::uint32_t on =
            Device::open(machine.at(DJPROBE_DEVICE).c_str()).set_switches(0, 0);
        if (!(on & DJPROBE_SWITCH_PROBES))
            return {"switches", Health::Note, "all probes are switched off", "probeload on"};
        if (!(on & DJPROBE_SWITCH_JUMPS))
            return {"switches", Health::Note, "jumps are switched off", "probeload on --jumps"};
        return {"switches", Health::Ok, "probes and jumps are on"};
    } catch (const Error& error) {
        return {"switches", Health::Note, error.what()};
    }
}

}  // namespace

Findings examine_module(const Machine& machine) {
    const std::optional<ModuleFile> file = ModuleFile::find(machine);
    Findings findings = {examine_file(machine, file)};
    if (file) findings.push_back(examine_signature(machine, *file));
    findings.push_back(examine_device(machine));
    if (findings.back().health != Health::Ok) return findings;
    if (file) findings.push_back(examine_age(machine, *file));
    findings.push_back(examine_switches(machine));
    return findings;
}

}  // namespace djprobe::loader::doctor
