// SPDX-License-Identifier: GPL-2.0
// The kernel's own kprobes, as far as they touch text: registered, armed, optimized, and back.
#pragma once

#include <map>

#include "text_image.h"

namespace djprobe::model {

/// One kprobe of the kernel's own.
struct Kprobe {
    bool armed = false;        ///< its int3 is in the text
    bool optimized = false;    ///< its jump is
    bool optimizable = false;  ///< as decided at registration, from the text as it was
    u8 saved[16] = {};         ///< text at registration; only the first byte counts for an int3
    u8 length = 1;             ///< of what its jump replaces
};

/// What the kernel lets happen; each returns whether it does. The caller holds no text lock.
class Kprobes {
  public:
    explicit Kprobes(TextImage& image) : image_(image) {}

    bool add(u64 address, bool armed);
    bool remove(u64 address);
    bool arm(u64 address);
    bool disarm(u64 address);
    /// The kernel's optimizer has come around.
    bool optimize(u64 address);
    bool unoptimize(u64 address);
    /// Its module has gone: nothing is written.
    void forget(Range text);

    const std::map<u64, Kprobe>& all() const { return all_; }
    const Kprobe* find(u64 address) const;
    bool any_within(Range range) const;
    /// The byte that is there, or that one of these hides.
    u8 byte(u64 address) const;

  private:
    bool may_add(u64 address) const;
    bool may_optimize(u64 address, Kprobe& kprobe) const;
    bool decode(u64 address, x86::Insn& insn) const;

    TextImage& image_;
    std::map<u64, Kprobe> all_;
};

}  // namespace djprobe::model
