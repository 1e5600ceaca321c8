// SPDX-License-Identifier: GPL-2.0
#include "object/object.h"

#include <cerrno>
#include <optional>
#include <string_view>

#include "base/descriptors.h"
#include "base/error.h"
#include "base/temp_dir.h"
#include "kernel/lockdown.h"
#include "kernel/rights.h"
#include "object/assign.h"
#include "object/btf_check.h"
#include "object/compile.h"
#include "object/crash_guard.h"
#include "object/elf_check.h"
#include "object/from_stdin.h"
#include "object/libbpf_log.h"
#include "object/tail_calls.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kVerifierLines = 8;
// Opening takes milliseconds.
constexpr int kSecondsToOpen = 30;

std::string libbpf_error(int error) {
    char text[256];
    libbpf_strerror(error, text, sizeof text);
    return text;
}

// Tools set the sizes of some maps by themselves, before they load their object.
std::string missing_size(const bpf_map& map) {
    const std::string name = bpf_map__name(&map);
    const bool no_room = bpf_map__max_entries(&map) == 0;
    const bool no_size = bpf_map__value_size(&map) == 0 && has_values(map);
    if (no_room && no_size)
        return fmt::format("it has no size: give --map {0}.max_entries=N --map {0}.value_size=N",
                           name);
    if (no_room)
        return fmt::format("it has no room for any entry: give --map {}.max_entries=N", name);
    return no_size ? fmt::format("its values have no size: give --map {}.value_size=N", name) : "";
}

// libbpf names the map that the kernel has refused.
void explain_map(const bpf_object* object, const std::string& log) {
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        const std::string name = bpf_map__name(map);
        if (log.find("map '" + name + "': failed to create") == log.npos) continue;
        const std::string why = missing_size(*map);
        if (!why.empty()) fail(ExitCode::kRejected, "map '{}' cannot be made: {}", name, why);
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

Object Object::open(const std::filesystem::path& file, bool verbose, Process process) {
    const bool from_stdin = is_stdin(file);
    if (process == Process::kCallers && (file.empty() || from_stdin || is_source(file)))
        fail(ExitCode::kUsage, "'{}': libprobeload takes only object files (.bpf.o)",
             file.string());
    if (file.empty())
        fail(ExitCode::kUsage,
             "FILE is '': name an object (.bpf.o) or its source (.bpf.c), or - for stdin");
    Object object(from_stdin ? "stdin" : file.string(), verbose, process);
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
    std::optional<CrashGuard> guard;
    if (process == Process::kOurs) guard.emplace(object.name_, kSecondsToOpen);
    const LibbpfLog log(verbose);
    check_types(path, object.name_);
    object.tail_called_ = tail_called_programs(path);
    object.object_.reset(bpf_object__open_file(path.c_str(), nullptr));
    if (!object.object_) {
        const int error = errno;
        const std::string warning = first_warning(log.text());
        fail(ExitCode::kBadFile, "{}: not a loadable BPF object: {}", object.name_,
             warning.empty()
                 ? fmt::format("libbpf gives no reason but '{}' (-v shows what it has read)",
                               libbpf_error(-error))
                 : warning);
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

void Object::take(const std::vector<Program>& programs) {
    for (const Program& program : this->programs())
        // libbpf fills the slots of each PROG_ARRAY, and needs the programs for that.
        bpf_program__set_autoload(program.handle, is_tail_called(program));
    for (const Program& program : programs)
        bpf_program__set_autoload(program.handle, true);
    // The kernel would give a program of SEC("kprobe.multi") helpers that find cookie and address
    // where only its own attachment leaves them. The context is the same.
    for (const Program& program : this->programs())
        if (runner_of(program) == Runner::kDjprobe)
            bpf_program__set_expected_attach_type(program.handle, static_cast<bpf_attach_type>(0));
}

void Object::load() {
    const LibbpfLog log(verbose_);
    std::optional<CrashGuard> guard;
    if (process_ == Process::kOurs) guard.emplace(name_);
    const int error = bpf_object__load(object_.get());
    if (error == 0) return;
    // The verifier would only say that it does not know a function.
    if (is_confidential()) {
        fail(ExitCode::kNoPermission,
             "{}: cannot be loaded: kernel lockdown (confidentiality) forbids probes, and BPF "
             "programs to read the kernel",
             name_);
    }
    const std::string verifier = verifier_tail(log.text(), kVerifierLines);
    if (!verifier.empty()) {
        const std::string what = fmt::format("program '{}': rejected by the kernel's verifier",
                                             rejected_program(log.text()));
        if (verbose_) fail(ExitCode::kRejected, "{}, whose log is above", what);
        fail(ExitCode::kRejected, "{}; its last words{}:\n{}", what,
             process_ == Process::kOurs ? " (-v shows all)" : "", verifier);
    }
    if (error == -EPERM) {
        fail(ExitCode::kNoPermission, "{}: the kernel does not permit to load BPF: {}", name_,
             why_denied(kToProbe));
    }
    if (error == -EMFILE) fail(ExitCode::kFailure, "{}: {}", name_, out_of_descriptors());
    explain_map(object_.get(), log.text());
    const std::string warning = first_warning(log.text());
    fail(ExitCode::kRejected, "{}: cannot be loaded: {}", name_,
         warning.empty() ? libbpf_error(error) : warning);
}

}  // namespace djprobe::loader
