// SPDX-License-Identifier: GPL-2.0
// The system calls by which tools place kprobes, as Go's libraries make them: raw.
#pragma once

#include <cstdint>
#include <vector>

#include "../probes/harness/probe.h"

namespace djprobe::vm {

/// The number of the kprobe PMU.
uint32_t kprobe_type();

/// perf_event_open() of a kprobe, or of a kretprobe; an errno where there is no fd.
struct EventAsk {
    const char* symbol = nullptr;  ///< or null: the address
    uint64_t place = 0;            ///< offset, or address
    bool at_return = false;
};
Fd open_event(const EventAsk& ask);

int set_program(const Fd& event, int program);  ///< 0 or an errno
Fd link_event(const Fd& event, int program, uint64_t cookie);
Fd link_multi(const std::vector<const char*>& symbols, int program, bool at_return,
              const std::vector<uint64_t>& cookies = {});
/// The same by addresses.
Fd link_multi_at(const std::vector<uint64_t>& addresses, int program, bool at_return,
                 const std::vector<uint64_t>& cookies = {});
/// bpf(), with the attributes as they are: its value, or a negative errno.
int bpf_call(int command, void* attributes, unsigned size);

}  // namespace djprobe::vm
