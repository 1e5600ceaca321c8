// SPDX-License-Identifier: GPL-2.0
// Which tasks' hits count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "djprobe_action.h"

namespace djprobe::loader {

struct TaskFilter {
    std::optional<std::uint32_t> pid, tid;  ///< a process, a thread
    std::optional<std::string> comm;        ///< the name of threads
};

/// The comparisons for which a hit of such a task goes on. Throws Error(kUsage): there is no such
/// task, no task can have such a name, or the numbers here are not those of the kernel.
std::vector<djprobe_action> task_conditions(const TaskFilter& filter);

/// The same, unchecked: for any numbers, and a name that is short enough.
std::vector<djprobe_action> conditions_of(const TaskFilter& filter);

/// False in a PID namespace of our own, where no number can be looked up here; it says so.
bool numbers_are_ours();
/// By numbers as own_number() has them. Throw Error(kUsage): there is no such task, or a thread is
/// taken for a process.
void check_process(std::uint32_t number);
void check_thread(std::uint32_t number);
/// Throws Error(kUsage): no task can have this name. Says so where it looks like a pattern.
void check_name(const std::string& comm);

/// At most so many.
inline constexpr std::size_t kMostTaskConditions = 4;

}  // namespace djprobe::loader
