// SPDX-License-Identifier: GPL-2.0
// What vm/lib/parked_guest.py and the guest's `parked` share: a page of the guest's memory, which
// the host reads and writes through the file that backs it. parked_guest.py has the same offsets.
#pragma once

#include <cstdint>

namespace djprobe::vm {

inline constexpr uint64_t kParkedMagic = 0x6465'6b72'6170'6a64;

enum class ParkedOp : uint32_t {
    Attach = 1,   ///< `address`, `mode` into `slot`
    Detach = 2,   ///< the probe in `slot`
    Query = 3,    ///< the probe in `slot`
    Settle = 4,   ///< wait for the optimizer, then as Query
    Explain = 5,  ///< `address`
    Count = 6,    ///< how often the handler ran
    End = 7,      ///< of the process, after which vm/run looks at the console
};

struct ParkedControl {
    uint64_t magic;
    // The victim: `call` is made once for each `go` that differs from `done`.
    uint32_t victim_go, victim_done;
    uint32_t call;
    uint32_t wrong;  ///< 1: a register that the ABI keeps has changed
    int64_t victim_result;
    // The patcher, the same.
    uint32_t patcher_go, patcher_done;
    uint32_t op;
    uint32_t slot;
    uint32_t mode;
    int32_t error;  ///< of the ioctl, negative errno
    uint64_t address;
    uint64_t count;
    uint64_t hits, missed;
    uint32_t state, mechanism, reason, tactic;
    uint64_t anchor;
    uint32_t region_len, verdict;
    uint8_t region[32];
};

}  // namespace djprobe::vm
