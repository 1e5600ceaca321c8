// SPDX-License-Identifier: GPL-2.0
#include "object/object.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/error.h"
#include "base/temp_dir.h"
#include "kernel/lockdown.h"
#include "kernel/rights.h"
#include "object/btf_check.h"
#include "object/compile.h"
#include "object/crash_guard.h"
#include "object/elf_check.h"
#include "object/from_stdin.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kVerifierLines = 8;
// Opening takes milliseconds.
constexpr int kSecondsToOpen = 30;
// libbpf gives uprobes and sessions the same program type; only the section tells them apart.
constexpr std::string_view kSections[] = {"kprobe", "kretprobe", "kprobe.multi", "kretprobe.multi"};

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

// A section is "TYPE" or "TYPE/PLACE".
std::string_view type_of(std::string_view section) {
    return section.substr(0, section.find('/'));
}

bool is_section(std::string_view type) {
    return std::ranges::find(kSections, type) != std::end(kSections);
}

void check_section(const Program& program) {
    const std::string_view type = type_of(program.section);
    // Older libbpf does not know the section, and gives it no type.
    if (type == "kprobe.session") {
        fail(ExitCode::kWrongProgram,
             "program '{}' has SEC \"{}\": write two, SEC \"kprobe\" and SEC \"kretprobe\", and "
             "attach them with --session",
             program.name, program.section);
    }
    if (bpf_program__type(program.handle) != BPF_PROG_TYPE_KPROBE) {
        fail(ExitCode::kWrongProgram,
             "program '{}': not a program of type kprobe, as its SEC \"{}\" says: use SEC "
             "\"kprobe\" or \"kretprobe\"",
             program.name, program.section);
    }
    if (is_section(type)) return;
    const std::string_view place =
        std::string_view(program.section).substr(std::min(type.size() + 1, program.section.size()));
    if ((type == "ksyscall" || type == "kretsyscall") && !place.empty()) {
        fail(ExitCode::kWrongProgram, "program '{}' has SEC \"{}\": use SEC \"{}/__x64_sys_{}\"",
             program.name, program.section, type == "ksyscall" ? "kprobe" : "kretprobe", place);
    }
    fail(ExitCode::kWrongProgram,
         "program '{}' has SEC \"{}\", which is not for a probe in the kernel: use SEC "
         "\"kprobe\" or \"kretprobe\"",
         program.name, program.section);
}

bool can_run(const Program& program) {
    try {
        check_section(program);
    } catch (const Error&) {
        return false;
    }
    return true;
}

// One program that cannot run does not stand for several.
void check_one_of(const std::vector<Program>& programs, const Program& program) {
    try {
        check_section(program);
    } catch (const Error& error) {
        std::vector<Program> good;
        std::ranges::copy_if(programs, std::back_inserter(good), can_run);
        if (good.empty()) throw;
        fail(error.code(), "{}; or choose one that can run with --prog: {}", error.what(),
             program_list(good));
    }
}

// An object without types is fine, and what libbpf itself refuses it will say when it opens it.
void check_types(const std::filesystem::path& object, const std::string& name) {
    const std::unique_ptr<btf, decltype(&btf__free)> types(btf__parse(object.c_str(), nullptr),
                                                           btf__free);
    if (!types) return;
    try {
        check_btf(*types);
    } catch (const Error& error) {
        fail(error.code(), "{}: {}", name, error.what());
    }
}

}  // namespace

Object::Object(std::string name, bool verbose)
    : name_(std::move(name)), verbose_(verbose), log_(std::make_unique<LibbpfLog>(verbose)) {}

Object Object::open(const std::filesystem::path& file, bool verbose) {
    const bool from_stdin = is_stdin(file);
    Object object(from_stdin ? "stdin" : file.string(), verbose);
    std::optional<TempDir> directory;
    std::filesystem::path path = file;
    std::filesystem::path beside = file.has_parent_path() ? file.parent_path() : ".";
    if (from_stdin || is_source(file)) directory.emplace();
    if (from_stdin) {
        path = save_stdin(*directory);
        beside = ".";
    }
    if (is_source(path)) path = compile(path, object.name_, beside, *directory);
    check_bpf_elf(path, object.name_);
    const CrashGuard guard(object.name_, kSecondsToOpen);
    check_types(path, object.name_);
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

std::vector<Program> Object::select(const std::string& name, Several several) const {
    std::vector<Program> all = programs();
    if (all.empty()) fail(ExitCode::kBadFile, "{}: no BPF program in it", name_);
    if (!name.empty()) {
        for (const Program& program : all)
            if (program.name == name) return {program};
        fail(ExitCode::kUsage, "{}: no program '{}'; it has: {}", name_, name, program_list(all));
    }
    if (all.size() == 1) return all;
    std::vector<Program> chosen;
    for (const Program& program : all)
        if (bpf_program__autoload(program.handle)) chosen.push_back(program);
    if (chosen.size() > 1 && several == Several::kRefuse) {
        fail(ExitCode::kUsage, "{}: several programs, choose one with --prog: {}", name_,
             program_list(all));
    }
    for (const Program& program : chosen) {
        check_one_of(chosen, program);
        if (chosen.size() > 1 && several == Several::kTakeAll &&
            !site_of_section(program.section)) {
            fail(ExitCode::kUsage,
                 "{}: several programs, and the section of '{}' names no function; choose one with "
                 "--prog: {}",
                 name_, program.name, program_list(all));
        }
    }
    if (chosen.empty()) {
        fail(ExitCode::kUsage,
             "{}: all its programs are optional (SEC \"?...\"): choose one with --prog: {}", name_,
             program_list(all));
    }
    return chosen;
}

std::vector<Program> Object::choose(const std::string& name, Several several) {
    std::vector<Program> chosen = select(name, several);
    for (const Program& program : programs())
        bpf_program__set_autoload(program.handle, false);
    for (const Program& program : chosen) {
        check_section(program);
        // The kernel would give a program of SEC("kprobe.multi") helpers that find cookie and
        // address where only its own attachment leaves them. The context is the same.
        bpf_program__set_expected_attach_type(program.handle, static_cast<bpf_attach_type>(0));
        bpf_program__set_autoload(program.handle, true);
    }
    return chosen;
}

void Object::load() {
    log_->clear();
    const CrashGuard guard(name_);
    const int error = bpf_object__load(object_.get());
    if (error == 0) return;
    // The verifier would only say that it does not know a function.
    if (is_confidential()) {
        fail(ExitCode::kNoPermission,
             "{}: cannot be loaded: kernel lockdown (confidentiality) forbids probes, and BPF "
             "programs to read the kernel",
             name_);
    }
    const std::string verifier = verifier_tail(log_->text(), kVerifierLines);
    if (!verifier.empty()) {
        const std::string what = fmt::format("program '{}': rejected by the kernel's verifier",
                                             rejected_program(log_->text()));
        if (verbose_) fail(ExitCode::kRejected, "{}, whose log is above", what);
        fail(ExitCode::kRejected, "{}; its last words (-v shows all):\n{}", what, verifier);
    }
    if (error == -EPERM) {
        fail(ExitCode::kNoPermission, "{}: the kernel does not permit to load BPF: {}", name_,
             why_denied(Capability::kSysAdmin));
    }
    const std::string warning = first_warning(log_->text());
    fail(ExitCode::kRejected, "{}: cannot be loaded: {}", name_,
         warning.empty() ? libbpf_error(error) : warning);
}

bool is_return_section(std::string_view section) {
    const std::string_view type = type_of(section);
    return type == "kretprobe" || type == "kretprobe.multi";
}

std::optional<SiteSpec> site_of_section(std::string_view section) {
    const std::string_view type = type_of(section);
    if (!is_section(type) || section.size() <= type.size() + 1) return std::nullopt;
    return parse_function(section.substr(type.size() + 1));
}

}  // namespace djprobe::loader
