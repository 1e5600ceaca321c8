// SPDX-License-Identifier: GPL-2.0
// The task that runs, for actions that ask for it.
#pragma once

#include "arch/x86/detour/action_writer.h"
#include "support/action_meaning.h"

namespace djprobe::test {

/// Its fields, as a kernel may lay them out, hold this from now on.
void let_run(const Task& task);

/// Where detours find it, by %gs of DirectBench.
x86::TaskLayout task_layout();

/// How far from there something is.
i64 from_gs(const void* what);

}  // namespace djprobe::test
