// SPDX-License-Identifier: GPL-2.0
// What a list of actions means: random lists, and what they should do to registers' counters.
#pragma once

#include <array>
#include <random>
#include <vector>

#include "arch/x86/detour/action.h"
#include "support/machine.h"

namespace djprobe::test {

using Actions = std::vector<x86::Action>;

/// What the fields of the task that runs hold.
using Task = std::array<u64, DJPROBE_TASK_FIELDS>;

/// Actions on counters in the first `room` bytes behind a probe's one.
Actions random_actions(std::mt19937_64& random, size_t room);

/// Random registers and fields, the operands' more often small, or about what they are compared
/// with.
void make_interesting(const Actions& actions, Machine& machine, Task& task,
                      std::mt19937_64& random);

/// Lists may read it: where registers point that address memory.
u64* action_memory();

/// The operand's 64 bits.
u64 operand(const x86::Action& action, const Machine& machine, const Task& task = {});

/// Do to the counters what uapi/djprobe_action.h says.
void interpret(const Actions& actions, const Machine& machine, const Task& task,
               std::vector<u64>& counters);

/// The same without counters: conditions, as they may stand in front of a program.
Actions random_conditions(std::mt19937_64& random);
/// Whether all conditions hold.
bool all_hold(const Actions& conditions, const Machine& machine, const Task& task);

std::string describe(const Actions& actions);

}  // namespace djprobe::test
