// SPDX-License-Identifier: GPL-2.0
#include "session/choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/plural.h"
#include "session/place_option.h"

namespace djprobe::loader {
namespace {

bool is_named(const AttachOptions& options, const Program& program) {
    return std::ranges::find(options.programs, program.name) != options.programs.end() ||
           std::ranges::find(options.places, program.name, &PlaceOption::name) !=
               options.places.end();
}

void check_names(const AttachOptions& options, const Object& object,
                 const std::vector<Program>& all) {
    for (const std::string& name : options.programs)
        if (std::ranges::find(all, name, &Program::name) == all.end())
            fail(ExitCode::kUsage, "{}: no program '{}'; it has: {}", object.name(), name,
                 program_list(all));
}

// Without a word of the user all but those of SEC("?...") and those that others call.
std::vector<Program> wanted_programs(const AttachOptions& options, const Object& object,
                                     const std::vector<Program>& all) {
    std::vector<Program> wanted;
    std::ranges::copy_if(all, std::back_inserter(wanted), [&](const Program& program) {
        if (is_named(options, program) || all.size() == 1) return true;
        return options.programs.empty() && bpf_program__autoload(program.handle) &&
               !object.is_tail_called(program);
    });
    if (wanted.empty())
        fail(ExitCode::kUsage,
             "{}: all its programs are optional (SEC \"?...\"): choose one with --prog: {}",
             object.name(), program_list(all));
    return wanted;
}

std::set<std::string_view> places_of(const std::vector<Program>& programs,
                                     std::string_view type = "") {
    std::set<std::string_view> places;
    for (const Program& program : programs)
        if (type.empty() || type_of_section(program.section) == type)
            places.insert(place_of_section(program.section));
    return places;
}

// Where a tool's user names the function, sections name none: "fentry/dummy_fentry" stands for what
// "kprobe/dummy_kprobe" does.
bool stand_for(std::string_view place, const std::set<std::string_view>& probed) {
    if (probed.contains(place)) return true;
    for (const std::string_view kind : {"_fentry", "_fexit"}) {
        if (!place.ends_with(kind)) continue;
        const std::string stem(place.substr(0, place.size() - kind.size()));
        return probed.contains(stem + "_kprobe") || probed.contains(stem + "_kretprobe");
    }
    return false;
}

// Tools have programs of two kinds for the same places, and take what the kernel can. A probe costs
// less than fentry, and a typed tracepoint less than a raw one.
void leave_out_alternatives(const AttachOptions& options, Choice& choice) {
    const auto probed = places_of(choice.probes), typed = places_of(choice.others, "tp_btf");
    const std::size_t left_out = std::erase_if(choice.others, [&](const Program& program) {
        const std::string_view type = type_of_section(program.section);
        const std::string_view place = place_of_section(program.section);
        if (is_named(options, program)) return false;
        if (type == "fentry" || type == "fexit") return stand_for(place, probed);
        const bool is_raw = type == "raw_tp" || type == "raw_tracepoint";
        return is_raw && typed.contains(place);
    });
    if (left_out != 0)
        choice.left_out.push_back(fmt::format(
            "{} left out: the object has others for the same places", plural(left_out, "program")));
}

// By the user's own word: then an object need not have any probe.
bool is_in_user_space(const Program& program) {
    return std::ranges::any_of(program.places, is_user_place);
}

std::vector<Program>& list_for(const Program& program, Choice& choice,
                               std::vector<Program>& unfit) {
    const Runner runner = runner_of(program);
    if (runner == Runner::kNone) return unfit;
    const bool by_libbpf =
        runner == Runner::kLibbpf || std::ranges::any_of(program.places, is_user_place);
    return by_libbpf ? choice.others : choice.probes;
}

void leave_out(const AttachOptions& options, const Program& program, Choice& choice) {
    const std::string why = why_no_probe(program);
    if (!options.skip_unsupported)
        fail(ExitCode::kWrongProgram,
             "{}; or choose those that can run with --prog: {}; or add --skip-unsupported", why,
             program_list(choice.probes));
    choice.left_out.push_back("left out: " + why);
}

}  // namespace

Choice choose_programs(const AttachOptions& options, const Object& object) {
    std::vector<Program> all = object.programs();
    if (all.empty()) fail(ExitCode::kBadFile, "{}: no BPF program in it", object.name());
    check_names(options, object, all);
    place_programs(options.places, all);
    Choice choice;
    std::vector<Program> unfit;
    for (const Program& program : wanted_programs(options, object, all))
        list_for(program, choice, unfit).push_back(program);
    leave_out_alternatives(options, choice);
    if (!options.others_too) {
        std::ranges::move(choice.others, std::back_inserter(unfit));
        choice.others.clear();
    }
    if (choice.probes.empty() && std::ranges::none_of(choice.others, is_in_user_space))
        fail(ExitCode::kWrongProgram, "{}",
             why_no_probe(unfit.empty() ? choice.others.front() : unfit.front()));
    for (const Program& program : unfit)
        leave_out(options, program, choice);
    return choice;
}

}  // namespace djprobe::loader
