// SPDX-License-Identifier: GPL-2.0
#include "object/object.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "object/compile.h"
#include "object/elf_check.h"
#include "object/temp_dir.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kVerifierLines = 8;
constexpr std::string_view kSectionPrefix = "kprobe/";

std::string libbpf_error(int error) {
    char text[256];
    libbpf_strerror(error, text, sizeof text);
    return text;
}

std::string program_list(const std::vector<Program>& programs) {
    std::vector<std::string> items;
    items.reserve(programs.size());
    for (const Program& program : programs) {
        items.push_back(fmt::format("{} (SEC \"{}\")", program.name, program.section));
    }
    return fmt::format("{}", fmt::join(items, ", "));
}

// libbpf gives uprobes and return probes the same program type: only the section tells them.
void check_section(const Program& program) {
    if (bpf_program__type(program.handle) != BPF_PROG_TYPE_KPROBE) return;
    const std::string_view section = program.section;
    if (section == "kprobe" || section.starts_with(kSectionPrefix)) return;
    if (section.starts_with("kprobe.multi") || section.starts_with("kprobe.session")) return;
    fail(ExitCode::kWrongProgram,
         "program '{}' has SEC \"{}\", which is not for a probe at an instruction: use SEC "
         "\"kprobe\"",
         program.name, program.section);
}

}  // namespace

Object::Object(std::string name, bool verbose)
    : name_(std::move(name)), log_(std::make_unique<LibbpfLog>(verbose)) {}

Object Object::open(const std::filesystem::path& file, bool verbose) {
    Object object(file.string(), verbose);
    std::optional<TempDir> directory;
    std::filesystem::path path = file;
    if (is_source(file)) {
        directory.emplace();
        path = compile(file, directory->path());
    }
    check_bpf_elf(path);
    object.object_.reset(bpf_object__open_file(path.c_str(), nullptr));
    if (!object.object_) {
        const int error = errno;
        const std::string warning = first_warning(object.log_->text());
        fail(ExitCode::kBadFile, "{}: not a loadable BPF object: {}", object.name_,
             warning.empty() ? libbpf_error(-error) : warning);
    }
    return object;
}

std::vector<Program> Object::programs() const {
    std::vector<Program> programs;
    bpf_program* program = nullptr;
    while ((program = bpf_object__next_program(object_.get(), program)) != nullptr) {
        programs.push_back(
            {program, bpf_program__name(program), bpf_program__section_name(program)});
    }
    return programs;
}

Program Object::choose(const std::string& name) {
    const std::vector<Program> all = programs();
    if (all.empty()) fail(ExitCode::kBadFile, "{}: no BPF program in it", name_);
    if (name.empty() && all.size() > 1) {
        fail(ExitCode::kUsage, "{}: several programs, choose one with --prog: {}", name_,
             program_list(all));
    }
    const Program* chosen = nullptr;
    for (const Program& program : all) {
        if (name.empty() || program.name == name) chosen = &program;
    }
    if (chosen == nullptr) {
        fail(ExitCode::kUsage, "{}: no program '{}'; it has: {}", name_, name, program_list(all));
    }
    check_section(*chosen);
    for (const Program& program : all) {
        bpf_program__set_autoload(program.handle, program.handle == chosen->handle);
    }
    return *chosen;
}

void Object::load(const Program& program) {
    log_->clear();
    const int error = bpf_object__load(object_.get());
    if (error == 0) return;
    const std::string verifier = verifier_tail(log_->text(), kVerifierLines);
    if (!verifier.empty()) {
        fail(ExitCode::kRejected, "program '{}': rejected by the kernel's verifier:\n{}",
             program.name, verifier);
    }
    if (error == -EPERM) {
        fail(ExitCode::kNoPermission,
             "{}: not permitted to load BPF: needs root with CAP_BPF and CAP_PERFMON", name_);
    }
    const std::string warning = first_warning(log_->text());
    fail(ExitCode::kRejected, "{}: cannot be loaded: {}", name_,
         warning.empty() ? libbpf_error(error) : warning);
}

std::optional<SiteSpec> site_of_section(std::string_view section) {
    if (!section.starts_with(kSectionPrefix)) return std::nullopt;
    section.remove_prefix(kSectionPrefix.size());
    if (section.empty()) return std::nullopt;
    return parse_function(section);
}

}  // namespace djprobe::loader
