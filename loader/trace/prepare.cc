// SPDX-License-Identifier: GPL-2.0
#include "trace/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "debuginfo/debug_file.h"
#include "kernel/device.h"
#include "kernel/own_number.h"
#include "kernel/prototypes.h"
#include "kernel/reason.h"
#include "session/backend.h"
#include "trace/beside.h"
#include "trace/cgroup.h"
#include "trace/compiled.h"
#include "trace/find_sites.h"
#include "trace/header.h"
#include "trace/suggest.h"
#include "trace/trace_checks.h"

namespace djprobe::loader {
namespace {

bool is_of_this_kernel(const TraceOptions& options) {
    return options.types == TraceOptions().types;
}

bool needs_debuginfo(const Question& question) {
    return question.line || question.inlined;
}

// None where the question needs none, and there is none.
std::optional<std::string> debug_file(const TraceOptions& options) {
    const Question& question = options.question;
    if (!is_of_this_kernel(options)) {
        if (needs_debuginfo(question) && !options.debuginfo)
            fail(ExitCode::kUsage,
                 "{}: lines of another kernel need its debug information: name the file with "
                 "--debuginfo",
                 question.place());
        if (!options.debuginfo) return std::nullopt;
        return find_debug_file_of(options.types, question.module(), *options.debuginfo);
    }
    if (needs_debuginfo(question) || options.debuginfo)
        return find_debug_file(question.module(), options.debuginfo);
    return installed_debug_file(question.module());
}

// What the module says of a site; of another kernel nothing is known. What is only written needs no
// module, but has the same places.
Judgement judgement_of(const TraceOptions& options) {
    const auto accept = [](const SiteSpec&) { return Judged{}; };
    if (options.emit && is_of_this_kernel(options)) return judgement_in_running_kernel(accept);
    std::optional<Device> opened;
    if (!options.emit) opened = open_device(options.attach.backend, false);
    if (!opened) return {accept};
    const auto device = std::make_shared<Device>(std::move(*opened));
    const auto symbolizer = std::make_shared<Symbolizer>();
    const auto judge = [=](const SiteSpec& site) -> Judged {
        const djprobe_explain answer = device->judge(site, 0);
        if (answer.verdict == DJPROBE_VERDICT_JUMP) return {};
        const std::string why = describe_reason(reason_of(answer), *symbolizer);
        if (answer.verdict == DJPROBE_VERDICT_REFUSED) return {.refused = why};
        return {.int3 = why};
    };
    return judgement_in_running_kernel(judge);
}

// What is misspelt is no whole function. Types lack some functions that the kernel has.
void check_function(const TraceOptions& options, const Types& types) {
    const Question& question = options.question;
    const std::string name = question.bare_function();
    if (question.is_glob() || types.function(name)) return;
    if (!is_of_this_kernel(options))
        fail(ExitCode::kNoSuchSite, "{}: the kernel's types know no such function{}",
             question.function(), suggest(name, types.function_names()));
    Symbolizer symbolizer;
    check_symbol(question.site, symbolizer);
}

void tell_left_out(const std::vector<std::string>& lines, const TellSites& tell) {
    for (const std::string& line : lines)
        tell("left out: " + line);
}

void add_sites(TraceOptions& options, const Types& types, const TellSites& tell) {
    Question& question = options.question;
    if (!question.is_within()) {
        if (options.debuginfo) {
            check_function(options, types);
            fail(ExitCode::kUsage,
                 "--debuginfo: is for FILE:LINE, FUNC:+LINE, FUNC+OFFSET and --inline: {} is a "
                 "whole function",
                 question.place());
        }
        return;
    }
    const std::optional<std::string> file = debug_file(options);
    if (!file) return;
    SiteNotes notes;
    find_sites(DwarfFile::open(*file), judgement_of(options), question, notes);
    tell_left_out(notes.left_out, tell);
    std::ranges::for_each(notes.beside, tell);
}

// Where it refuses a site the kernel's own probe may serve, which has no conditions.
bool takes_all(const Device& device, const Question& question, const TraceProgram& program) {
    if (question.is_glob()) return true;
    const std::vector<SiteSpec> one = {question.site};
    return std::ranges::all_of(program.sites.empty() ? one : program.sites,
                               [&](const SiteSpec& site) {
                                   return device.judge(site, 0).verdict != DJPROBE_VERDICT_REFUSED;
                               });
}

}  // namespace

PreparedTrace prepare(const TraceOptions& asked, const TellSites& tell) {
    check_trace(asked);
    TraceOptions options = asked;
    if (options.by) options.question.aggregation->keys = *options.by;
    Types types = Types::read(options.types, options.question.module());
    add_sites(options, types, tell);
    TraceProgram program = write_program(options.question, types);
    tell_left_out(program.left_out, tell);
    if (!options.emit && !needs_debuginfo(options.question)) check_function(options, types);
    return {std::move(options), std::move(types), std::move(program)};
}

// A hit that conditions keep from the program costs a few instructions. The program stays as
// --emit writes it. Where it has parts at entries these must see all: a task may get the name, or
// the number, that is asked for before it is at the site.
Front front_of(const PreparedTrace& trace) {
    const TraceOptions& options = trace.options;
    const bool has_parts = trace.program.is_session || trace.program.keeps_entries;
    if (options.emit || has_parts || options.attach.backend == Backend::kKernel) return {};
    Prototypes prototypes(options.types.parent_path());
    return choose_front(options.question, prototypes);
}

std::filesystem::path compile_program(const PreparedTrace& trace, TempDir& directory,
                                      Process process) {
    return compiled(trace.program.source, trace_header(trace.types, trace.program.types),
                    trace_flags(trace.types), directory, process);
}

AttachOptions attach_options(const PreparedTrace& trace, const std::filesystem::path& object,
                             const Device* device) {
    const TraceOptions& options = trace.options;
    const TraceProgram& program = trace.program;
    AttachOptions attach = options.attach;
    attach.file = object;
    attach.session = program.is_session;
    // Its filters leave calls out on purpose.
    attach.tells_of_no_return = false;
    // The user's word: of a section's, attach tells which of its options put it elsewhere.
    if (program.sites.empty())
        attach.sites.push_back(options.question.site);
    else if (program.sites.size() == 1)
        attach.sites = program.sites;
    if (const auto& folder = options.question.filters.cgroup)
        std::ranges::copy(cgroup_variables(*folder), std::back_inserter(attach.globals));
    if (const auto own = own_number(); own && program.leaves_out_own)
        attach.globals.push_back(fmt::format("{}={}", kOwnProcess, *own));
    if (device && takes_all(*device, options.question, program))
        attach.conditions = front_of(trace).conditions;
    return attach;
}

}  // namespace djprobe::loader
