// SPDX-License-Identifier: GPL-2.0
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "doctor/examine.h"

namespace djprobe::loader::doctor {
namespace {

bool is_in_path(const Machine& machine, const std::string& program) {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (folder.starts_with('/') && machine.has(fmt::format("{}/{}", folder, program)))
            return true;
    return false;
}

Finding examine_clang(const Machine& machine) {
    if (is_in_path(machine, "clang"))
        return {"clang", Health::Ok, "sources (.bpf.c) can be attached"};
    return {"clang", Health::Note, "not here: only objects (.bpf.o) can be attached",
            "apt install clang libbpf-dev"};
}

Finding examine_headers(const Machine& machine) {
    const std::string& release = machine.release();
    if (machine.has(fmt::format("/lib/modules/{}/build/Makefile", release)))
        return {"headers", Health::Ok, "the module can be built for this kernel"};
    return {"headers", Health::Note, "the module cannot be built for this kernel",
            "apt install linux-headers-" + release};
}

// DKMS has a folder for each version of the module, and in it one for each kernel. Only a build
// that succeeded leaves module/ there.
Finding examine_dkms(const Machine& machine) {
    const std::string& release = machine.release();
    bool known = false;
    std::error_code error;
    for (const auto& version :
         std::filesystem::directory_iterator(machine.at("/var/lib/dkms/djprobe"), error)) {
        known = true;
        if (std::filesystem::exists(version.path() / release / "x86_64/module", error))
            return {
                "DKMS", Health::Ok,
                fmt::format("has built {} for this kernel", version.path().filename().string())};
    }
    if (!known) return {"DKMS", Health::Ok, "the module is not built by it (package djprobe-dkms)"};
    return {"DKMS", Health::Note, "has not built the module for this kernel",
            "dkms autoinstall -k " + release};
}

Finding examine_debug_symbols(const Machine& machine) {
    const std::string& release = machine.release();
    for (const char* path :
         {"/usr/lib/debug/boot/vmlinux-{}", "/usr/lib/debug/lib/modules/{}/vmlinux"})
        if (machine.has(fmt::format(fmt::runtime(path), release)))
            return {"debug symbols", Health::Ok, fmt::format(fmt::runtime(path), release)};
    return {"debug symbols", Health::Note,
            "none; djprobe does not need them, debuggers that look at its sites do",
            fmt::format("apt install linux-image-{}-dbg", release)};
}

}  // namespace

Findings examine_packages(const Machine& machine) {
    return {examine_clang(machine), examine_headers(machine), examine_dkms(machine),
            examine_debug_symbols(machine)};
}

}  // namespace djprobe::loader::doctor
