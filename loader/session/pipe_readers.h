// SPDX-License-Identifier: GPL-2.0
// Who reads what this process writes?
#pragma once

#include <sys/types.h>

#include <vector>

namespace djprobe::loader {

bool is_pipe(int fd);

/// The processes at the other end of a pipe, and those that read what they write in turn. Only what
/// /proc shows of them now; 16 at most.
std::vector<pid_t> pipe_readers(int fd);

}  // namespace djprobe::loader
