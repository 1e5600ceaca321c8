// SPDX-License-Identifier: GPL-2.0
// The kernel's own kprobes, as far as they touch text: registered, armed, optimized, and back.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "kmod/glue/kernel.h"
#include "text_image.h"

/// What a site of ours has in a kprobe of the kernel.
struct djk_seat {
    djprobe::u64 address;
    djk_site* site;
    unsigned int missed = 0;
};

namespace djprobe::model {

/// One kprobe of the kernel's own.
struct Kprobe {
    bool armed = false;        ///< its int3 is in the text
    bool queued = false;       ///< its jump will be written, without another look
    bool optimized = false;    ///< its jump is in the text
    bool optimizable = false;  ///< as decided at registration, from the text as it was
    bool theirs = true;        ///< some other user of the kernel's kprobes has registered it
    bool wanted = false;       ///< by that user: it is not disabled
    std::vector<djk_seat*> seats = {};  ///< of our sites
    u8 saved[16] = {};  ///< text at registration; only the first byte counts for an int3
    u8 length = 1;      ///< of what its jump replaces
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

    /// A site of ours takes part in the kprobe that is there, or that is made for it.
    bool join(djk_seat& seat);
    void leave(djk_seat& seat);
    /// Until then a kprobe that a seat has left is disabled, but there.
    void give_up_left();
    /// The kernel sees the original byte, and puts no kprobe there but on a jump's first byte.
    bool tells_truth(u64 address, u8 original) const;
    /// What the policy shows of its patches.
    std::set<const djk_patch*> patches;
    /// Those that the policy has not taken notice of.
    std::vector<u64> came;
    std::function<void()> on_new;

  private:
    bool may_add(u64 address) const;
    bool may_optimize(u64 address, Kprobe& kprobe) const;
    bool decode(u64 address, x86::Insn& insn) const;
    /// The patch with a byte in `range` that is the policy's now, or nullptr.
    const djk_patch* find_ours(Range range) const;
    /// The kernel copies the instruction here as it is: a jump of ours.
    bool is_jump_of_ours(u64 address) const;
    /// The byte without any probes, as the policy tells the kernel.
    u8 original_byte(u64 address) const;
    bool queue(u64 address);
    void set_armed(u64 address);

    TextImage& image_;
    std::map<u64, Kprobe> all_;
    std::set<u64> left_;
};

}  // namespace djprobe::model
