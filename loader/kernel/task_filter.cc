// SPDX-License-Identifier: GPL-2.0
#include "kernel/task_filter.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/say.h"
#include "kernel/own_number.h"

namespace djprobe::loader {
namespace {

// The kernel's TASK_COMM_LEN, with the NUL.
constexpr std::size_t kCommSize = 16;

djprobe_action equals(djprobe_task_field field, std::uint64_t value) {
    djprobe_action action = {};
    action.operation = DJPROBE_ACTION_IF_EQ;
    action.reg = static_cast<std::uint8_t>(field);
    action.width = static_cast<std::uint8_t>(djprobe_task_field_size(field));
    action.flags = DJPROBE_ACTION_TASK;
    action.value = value;
    return action;
}

// Of a task: its process. None: there is no such task.
std::optional<std::uint32_t> process_of(std::uint32_t task) {
    std::ifstream status("/proc/" + std::to_string(task) + "/status");
    // By lines: the first one is the task's name, which may be any words.
    for (std::string line; std::getline(status, line);) {
        std::uint32_t process = 0;
        if (std::sscanf(line.c_str(), "Tgid: %u", &process) == 1) return process;
    }
    return std::nullopt;
}

void need_own_numbers(const char* option) {
    if (own_number()) return;
    fail(ExitCode::kUsage,
         "{}: probeload runs in a PID namespace of its own, where tasks have other numbers: "
         "use --comm, or run it outside",
         option);
}

// 0 are the idle tasks.
void check_task(const char* option, std::uint32_t task) {
    if (task != 0 && !process_of(task))
        fail(ExitCode::kUsage, "{} {}: there is no such task", option, task);
}

// The name with zeros behind it, as the kernel writes it.
std::array<std::uint64_t, 2> padded(const std::string& comm) {
    std::array<std::uint64_t, 2> halves = {};
    static_assert(sizeof halves == kCommSize);
    std::memcpy(halves.data(), comm.data(), comm.size());
    return halves;
}

}  // namespace

std::vector<djprobe_action> conditions_of(const TaskFilter& filter) {
    std::vector<djprobe_action> conditions;
    if (filter.pid) conditions.push_back(equals(DJPROBE_TASK_TGID, *filter.pid));
    if (filter.tid) conditions.push_back(equals(DJPROBE_TASK_PID, *filter.tid));
    if (!filter.comm) return conditions;
    const auto [first, rest] = padded(*filter.comm);
    conditions.push_back(equals(DJPROBE_TASK_COMM, first));
    // A shorter name ends in the first half.
    if (filter.comm->size() >= sizeof first)
        conditions.push_back(equals(DJPROBE_TASK_COMM_8, rest));
    return conditions;
}

bool numbers_are_ours() {
    if (own_number()) return true;
    say("probeload: --pid and --tid are the machine's own numbers, not those of this PID "
        "namespace\n");
    return false;
}

void check_process(std::uint32_t number) {
    check_task("--pid", number);
    const auto process = process_of(number);
    if (process && *process != number)
        fail(ExitCode::kUsage, "--pid {}: that is a thread of process {}: use --tid {}", number,
             *process, number);
}

void check_thread(std::uint32_t number) {
    check_task("--tid", number);
}

void check_name(const std::string& comm) {
    if (comm.size() >= kCommSize)
        fail(ExitCode::kUsage, "--comm: the kernel keeps {} letters of a name: '{}'", kCommSize - 1,
             comm.substr(0, kCommSize - 1));
    // A task may have such a name, but none is known to.
    if (comm.find_first_of("*?[") != std::string::npos)
        say("probeload: --comm {}: a name is compared as it is, and is no pattern\n", comm);
}

std::vector<djprobe_action> task_conditions(const TaskFilter& filter) {
    if (filter.pid) {
        need_own_numbers("--pid");
        check_process(*filter.pid);
    }
    if (filter.tid) {
        need_own_numbers("--tid");
        check_thread(*filter.tid);
    }
    if (filter.comm) check_name(*filter.comm);
    return conditions_of(filter);
}

}  // namespace djprobe::loader
