// SPDX-License-Identifier: GPL-2.0
// The running kernel as an image.
#include <algorithm>
#include <fstream>
#include <span>
#include <string>

#include "base/error.h"
#include "kernel/device.h"
#include "kernel/kcore.h"
#include "kernel/rights.h"
#include "survey/image.h"
#include "survey/tracer_calls.h"

namespace djprobe::loader {
namespace {

/// On one CPU the kernel patches its lock prefixes. It does so with `maxcpus=1`, too; but then the
/// other CPUs are present, and may come.
bool booted_on_one_cpu() {
    std::string present, possible;
    std::ifstream("/sys/devices/system/cpu/present") >> present;
    std::ifstream("/sys/devices/system/cpu/possible") >> possible;
    std::string options;
    std::getline(std::ifstream("/proc/cmdline"), options);
    const bool limited = options.find("maxcpus=") != options.npos;
    return possible != "0" && (present == "0" || limited);
}

Kcore open_kcore() {
    try {
        return {};
    } catch (const Error& error) {
        if (error.code() == ExitCode::kNoPermission) throw;
        fail(error.code(), "{}: {}", error.what(), kImageInstead);
    }
}

/// Undoes probes in a copy of live text.
void undo_patches(std::uint64_t address, std::span<std::uint8_t> text) {
    try {
        const Device device = Device::open();
        (void)device.read_text(address, text);
    } catch (const Error&) {
        // Who may not ask the module sees them. Without the module there are only the kernel's.
    }
}

}  // namespace

KernelImage KernelImage::from_running_kernel(const Kallsyms& symbols) {
    KernelImage image;
    image.live_ = true;
    image.symbols_ = symbols;
    image.load_running_parts();
    return image;
}

void KernelImage::load_running_parts() {
    const Kcore kcore = open_kcore();
    const auto read_part = [&](const char* name, const char* first, const char* last) {
        const std::uint64_t begin = require(first);
        parts_.push_back({name, begin, kcore.read(begin, require(last) - begin)});
    };
    if (require("_stext") == 0)
        fail(ExitCode::kNoPermission, "/proc/kallsyms: addresses are hidden: {}", why_hidden());
    read_part("text", "_stext", "_etext");
    undo_patches(parts_.back().address, parts_.back().bytes);
    undo_tracer_calls(symbols_, parts_.back().address, parts_.back().bytes);
    read_part("rodata", "__start_rodata", "__end_rodata");
    read_part("bugs", "__start___bug_table", "__stop___bug_table");
    // This is init data: the kernel keeps it where it may need it.
    if (booted_on_one_cpu() && address_of("__smp_locks") && address_of("__smp_locks_end"))
        read_part("smp locks", "__smp_locks", "__smp_locks_end");
}

bool KernelImage::add(LoadedModule& module, const std::optional<ModuleStruct>& told) {
    const Kcore kcore = open_kcore();
    const auto read = [&](Range range) { return kcore.read(range.begin, range.size()); };
    // Where text comes from a cache of large pages, other code may follow at once.
    const Range own = module.section(".gnu.linkonce.this_module");
    if (told && own.size() != 0) {
        if (const auto size = told->text_size(read(own), module.text.begin))
            module.text.end = std::min(module.text.end, module.text.begin + *size);
    }
    std::vector<std::uint8_t> text = read(module.text);
    // Unmapped memory reads as zeros, and some follows each area that the kernel allocates.
    constexpr std::ptrdiff_t page = 4096;
    auto end = text.begin();
    while (text.end() - end >= page && std::any_of(end, end + page, [](auto byte) { return byte; }))
        end += page;
    text.erase(end, text.end());
    if (text.empty()) return false;
    undo_patches(module.text.begin, text);
    undo_tracer_calls(symbols_, module.text.begin, text);
    module.text.end = module.text.begin + text.size();
    parts_.push_back({module.name, module.text.begin, std::move(text)});
    for (const Range constants : module.constants())
        parts_.push_back({"constants", constants.begin, read(constants)});
    for (const LoadedModule::Section& section : module.sections)
        if (!module.text.contains(section.range.begin))
            parts_.push_back({section.name, section.range.begin, read(section.range)});
    return true;
}

}  // namespace djprobe::loader
