// SPDX-License-Identifier: GPL-2.0
// Code on its way into its slots.
#pragma once

#include "../../arch/x86/insn/types.h"

namespace djprobe::kmod {

/// Collects code that nothing leads to yet, because a write to text costs as much for a page as for
/// a byte, and the slots of a batch follow each other. Under the registry lock.
class CodeWriter {
  public:
    /// The code is at `address`, the beginning of a slot, after flush() at the latest. May flush.
    void add(u64 address, Span<const u8> code);
    /// Takes the text lock. Does not sync the cores.
    void flush();

  private:
    static constexpr size_t kRoom = 4096;  // the kernel writes no more at once

    u64 begin_ = 0;
    size_t size_ = 0;
    u8 bytes_[kRoom];
};

}  // namespace djprobe::kmod
