// SPDX-License-Identifier: GPL-2.0
// The seccomp filter of a tool: which system calls probeload gets to see.
#pragma once

#include <linux/filter.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace djprobe::loader {

/// Classic BPF: perf_event_open(), the commands of bpf() that are about links, and
/// PERF_EVENT_IOC_SET_BPF notify; all else goes on. It sees no memory, so that the listener looks
/// at the rest. Calls of a 32-bit program go on.
std::vector<sock_filter> tool_filter();

/// Puts the filter on the calling thread, which hands it down to its threads and children, also by
/// exec. The fd of its notifications, or none with errno: EBUSY where a filter with a listener is
/// there already.
UniqueFd install_tool_filter();
/// What that errno means.
std::string why_no_filter(int error);

}  // namespace djprobe::loader
