// SPDX-License-Identifier: GPL-2.0
#include "object/program.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace djprobe::loader {
namespace {

// libbpf gives uprobes and sessions the same program type; only the section tells them apart.
constexpr std::string_view kEntries[] = {"kprobe", "kprobe.multi", "ksyscall"};
constexpr std::string_view kReturns[] = {"kretprobe", "kretprobe.multi", "kretsyscall"};
// Two programs are the way to have it in shadow mode.
constexpr std::string_view kSession = "kprobe.session";

bool is_one_of(std::string_view type, const auto& types) {
    return std::ranges::find(types, type) != std::end(types);
}

bool is_section_of_probes(std::string_view type) {
    return is_one_of(type, kEntries) || is_one_of(type, kReturns);
}

}  // namespace

std::string_view type_of_section(std::string_view section) {
    return section.substr(0, section.find('/'));
}

std::string_view place_of_section(std::string_view section) {
    return section.substr(std::min(section.size(), type_of_section(section).size() + 1));
}

std::optional<SiteSpec> site_of_section(std::string_view section) {
    const std::string_view type = type_of_section(section), place = place_of_section(section);
    if (!is_section_of_probes(type) || place.empty()) return std::nullopt;
    const bool is_call = type.ends_with("syscall");
    return parse_function(is_call ? "__x64_sys_" + std::string(place) : std::string(place));
}

bool is_return_section(std::string_view section) {
    return is_one_of(type_of_section(section), kReturns);
}

Runner runner_of(const Program& program) {
    const bpf_prog_type type = bpf_program__type(program.handle);
    const std::string_view section_type = type_of_section(program.section);
    // Older libbpf does not know the section, and gives it no type.
    if (type == BPF_PROG_TYPE_UNSPEC || section_type == kSession) return Runner::kNone;
    return type == BPF_PROG_TYPE_KPROBE && is_section_of_probes(section_type) ? Runner::kDjprobe
                                                                              : Runner::kLibbpf;
}

std::string why_no_probe(const Program& program) {
    if (type_of_section(program.section) == kSession)
        return fmt::format(
            "program '{}' has SEC \"{}\": write two, SEC \"kprobe\" and SEC \"kretprobe\", and "
            "attach them with --session",
            program.name, program.section);
    if (bpf_program__type(program.handle) != BPF_PROG_TYPE_KPROBE)
        return fmt::format(
            "program '{}': not a program of type kprobe, as its SEC \"{}\" says: use SEC "
            "\"kprobe\" or \"kretprobe\"",
            program.name, program.section);
    return fmt::format(
        "program '{}' has SEC \"{}\", which is not for a probe in the kernel: use SEC \"kprobe\" "
        "or \"kretprobe\"",
        program.name, program.section);
}

std::string program_list(const std::vector<Program>& programs) {
    std::vector<std::string> items;
    items.reserve(programs.size());
    for (const Program& program : programs)
        items.push_back(fmt::format("{} (SEC \"{}\")", program.name, program.section));
    return fmt::format("{}", fmt::join(items, ", "));
}

}  // namespace djprobe::loader
