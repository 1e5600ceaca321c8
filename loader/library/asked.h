// SPDX-License-Identifier: GPL-2.0
// What a caller's question holds, whatever it is for.
#pragma once

#include <cstddef>

#include "kernel/task_filter.h"
#include "library/probeload.h"
#include "trace/question.h"

namespace djprobe::loader {

/// The part that this version knows. `size`: the question's, as its caller knows it. Throws
/// Error(kUsage) where it is no size, or where more than that part is asked.
probeload_question known_part(const probeload_question& question, std::size_t size);

/// Neither null nor empty.
bool is_given(const char* text);
/// Throws Error(kUsage) for flags that are not known, or that are not for this.
void check_flags(const probeload_question& question, unsigned int known);

/// All of them. Throws Error(kUsage): a number is given without its flag.
TaskFilters task_filters(const probeload_question& question);
inline constexpr unsigned int kTaskFlags =
    PROBELOAD_ONLY_PID | PROBELOAD_ONLY_TID | PROBELOAD_ONLY_UID | PROBELOAD_ONLY_CPU;

}  // namespace djprobe::loader
