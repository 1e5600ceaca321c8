// SPDX-License-Identifier: GPL-2.0
#include "session/filtering.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "decode/quote.h"
#include "events/reader.h"
#include "kernel/own_number.h"
#include "kernel/task_filter.h"
#include "session/pipe_readers.h"

namespace djprobe::loader {
namespace {

std::string name_of(pid_t process) {
    std::string name;
    std::ifstream file(fmt::format("/proc/{}/comm", process));
    std::getline(file, name);
    return name;
}

// Who may not expect to be.
void tell(const std::vector<pid_t>& readers) {
    std::vector<std::string> names;
    names.reserve(readers.size());
    for (const pid_t reader : readers)
        names.push_back(printable_name(name_of(reader)));
    say("probeload: hits of probeload and of {}, which {} its output, are left out "
        "(--include-self)\n",
        fmt::join(names, " and "), names.size() == 1 ? "reads" : "read");
}

// By the numbers that programs see.
std::vector<std::uint32_t> self_and_readers() {
    std::vector<std::uint32_t> numbers = {static_cast<std::uint32_t>(getpid())};
    if (!is_pipe(STDOUT_FILENO)) return numbers;
    const std::vector<pid_t> readers = pipe_readers(STDOUT_FILENO);
    for (const pid_t reader : readers)
        numbers.push_back(static_cast<std::uint32_t>(reader));
    if (!readers.empty()) tell(readers);
    return numbers;
}

Exclude decide(Exclude wanted) {
    if (wanted == Exclude::kFeedback && (!is_pipe(STDOUT_FILENO) || !own_number()))
        return Exclude::kNone;
    if (wanted == Exclude::kSelf && !own_number())
        fail(ExitCode::kFailure,
             "--exclude-self: this process is in a PID namespace, and cannot know the numbers that "
             "programs see: run it outside of the container, or leave the option out");
    return wanted;
}

// A list with one value is what a condition can compare with.
template <class Value>
std::optional<Value> take_one(std::vector<Value>& values) {
    if (values.size() != 1) return std::nullopt;
    return std::exchange(values, {}).front();
}

TaskFilter take_conditions(HitFilter& filter) {
    return {take_one(filter.processes), take_one(filter.tasks), take_one(filter.names)};
}

// At a return the program has the filter as ever, and so where the kernel's own probe takes over.
bool takes_conditions(const Target& target, const Device& device) {
    if (target.at_returns || target.entry) return false;
    return target.site.is_glob() || device.judge(target.site, 0).verdict != DJPROBE_VERDICT_REFUSED;
}

void check_numbers(const FilterOptions& options) {
    if (options.processes.empty() && options.tasks.empty()) return;
    if (!numbers_are_ours()) return;
    std::ranges::for_each(options.processes, check_process);
    std::ranges::for_each(options.tasks, check_thread);
}

}  // namespace

Filtering::Filtering(const FilterOptions& options) : exclude_(decide(options.exclude)) {
    check_numbers(options);
    std::ranges::for_each(options.names, check_name);
    filters_.all.processes = options.processes;
    filters_.all.tasks = options.tasks;
    filters_.all.users = options.users;
    filters_.all.names = options.names;
    if (!options.cgroups.empty()) {
        cgroups_ = make_cgroup_map(options.cgroups);
        filters_.all.cgroups = options.cgroups.size();
        filters_.all.cgroup_map = cgroups_.get();
    }
    if (exclude_ != Exclude::kNone || !filters_.all.lets_all_pass()) handlers_.emplace(filters_);
}

void Filtering::give_conditions(std::vector<Target>& targets, const Object& object,
                                const Device& device) {
    filters_.rest = filters_.all;
    const std::vector<djprobe_action> conditions = conditions_of(take_conditions(filters_.rest));
    if (conditions.empty()) return;
    for (const Target& target : targets) {
        const auto is_fit = [&](const Target& other) {
            return other.program.name != target.program.name || takes_conditions(other, device);
        };
        if (!object.is_tail_called(target.program) && std::ranges::all_of(targets, is_fit))
            filters_.with_conditions.insert(target.program.name);
    }
    for (Target& target : targets)
        if (filters_.with_conditions.contains(target.program.name))
            target.conditions.insert(target.conditions.end(), conditions.begin(), conditions.end());
}

void Filtering::prepare(const bpf_object* object, const std::vector<Program>& others) {
    const bool asked = exclude_ == Exclude::kSelf || !filters_.all.lets_all_pass();
    const bool feeds_back = exclude_ == Exclude::kFeedback && carries_events(object);
    if (exclude_ == Exclude::kSelf || feeds_back)
        filters_.rest.excluded = filters_.all.excluded = self_and_readers();
    for (const Program& program : others)
        if (asked && !is_filtered_section(type_of_section(program.section)))
            say("probeload: program '{}' (SEC \"{}\") sees all tasks: programs of its kind are not "
                "filtered\n",
                program.name, program.section);
}

}  // namespace djprobe::loader
