// SPDX-License-Identifier: GPL-2.0
#include "count/task_filter.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
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
    for (std::string word; status >> word;) {
        std::uint32_t process = 0;
        if (word == "Tgid:" && status >> process) return process;
    }
    return std::nullopt;
}

void check_task(const char* option, std::uint32_t task) {
    if (!own_number())
        fail(ExitCode::kUsage,
             "{}: probeload runs in a PID namespace of its own, where tasks have other numbers: "
             "use --comm, or run it outside",
             option);
    // 0 are the idle tasks.
    if (task != 0 && !process_of(task))
        fail(ExitCode::kUsage, "{} {}: there is no such task", option, task);
}

void check_process(std::uint32_t task) {
    const auto process = process_of(task);
    if (process && *process != task)
        fail(ExitCode::kUsage, "--pid {}: that is a thread of process {}: use --tid {}", task,
             *process, task);
}

// The name with zeros behind it, as the kernel writes it.
std::array<std::uint64_t, 2> padded(const std::string& comm) {
    std::array<std::uint64_t, 2> halves = {};
    static_assert(sizeof halves == kCommSize);
    std::memcpy(halves.data(), comm.data(), comm.size());
    return halves;
}

void check_comm(const std::string& comm) {
    if (comm.size() < kCommSize) return;
    fail(ExitCode::kUsage, "--comm: the kernel keeps {} letters of a name: '{}'", kCommSize - 1,
         comm.substr(0, kCommSize - 1));
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

std::vector<djprobe_action> task_conditions(const TaskFilter& filter) {
    if (filter.pid) {
        check_task("--pid", *filter.pid);
        check_process(*filter.pid);
    }
    if (filter.tid) check_task("--tid", *filter.tid);
    if (filter.comm) check_comm(*filter.comm);
    return conditions_of(filter);
}

}  // namespace djprobe::loader
