// SPDX-License-Identifier: GPL-2.0
// A function's original bytes: live text with all probes, ours and the kernel's, taken out.
#pragma once

#include "../border/memory.h"
#include "../border/text_port.h"
#include "own_text.h"

namespace djprobe::kmod {

/// A copy of the whole symbol that holds an address.
class FunctionCopy {
  public:
    /// Copy the symbol's live text, and replace the kernel's kprobes by what they hide. False: no
    /// symbol holds `address`, the symbol is absurdly large or unreadable, or memory is short.
    /// The text lock, taken here or by the caller, keeps a byte from changing after it was read and
    /// before its owner is asked for: half of another patcher's jump would make other instructions
    /// of all that follows.
    [[nodiscard]] bool load(u64 address);
    [[nodiscard]] bool load(u64 address, const KernelText& text);
    /// The same for text that no symbol holds.
    [[nodiscard]] bool load(Range range);

    /// Whether load() has failed for want of memory.
    bool out_of_memory() const { return out_of_memory_; }

    /// Replace what our sites have written by what it hides. Under the registry lock.
    void recover_own(const OwnText& ours) { ours.restore(*this); }
    /// Put `bytes`, which were at `address` before, into the copy, as far as they lie in it.
    void overwrite(u64 address, Span<const u8> bytes);

    Code code() const { return {start_, room_.all().first(size_)}; }

  private:
    bool allocate(u64 address);
    bool allocate(Range range);
    bool read(const KernelText& text);
    void recover_foreign();

    u64 start_ = 0;
    size_t size_ = 0;
    Array<u8> room_;  ///< kept for the next function
    bool out_of_memory_ = false;
};

}  // namespace djprobe::kmod
