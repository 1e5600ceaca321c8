// SPDX-License-Identifier: GPL-2.0
// A CPU that never runs: from the text as it is now, which code, sites and handlers can it come to?
//
// Everything that it can come to is stamped. A quiescence whose beginning is later than a thing's
// last stamp has shown that no task is in it any more; only then may it be overwritten or freed.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "foreign.h"
#include "kmod/glue/kernel.h"
#include "text_image.h"

namespace djprobe::model {

/// A BPF program, a C handler or a counter.
struct Handler {
    djk_handler link{};
    int program = -1;  ///< what it runs, by its place among the programs; -1: none of them
    bool needs_context = false;
    u64 hits_field = 0;
    u64 last_reached = 0;
    bool destroyed = false;
    unsigned long hits = 0;
    std::vector<djprobe_action> actions;  ///< with a counter, or conditions in front of a program

    bool is_filtered() const { return !link.counter && !actions.empty(); }
};

/// Each list of conditions compares something with this, which nothing else holds.
inline constexpr u64 kConditionMark = 0x5aa5'1ee7'0bad'f00d;

/// In the model the caller has made the handler before it attaches.
inline const djk_source* source_of(const Handler& handler) {
    return reinterpret_cast<const djk_source*>(&handler.link);
}

/// What was written into a slot at once.
struct Blob {
    u64 begin = 0, end = 0;
    u64 written = 0;  ///< by the clock of writes and syncs
    u64 last_reached = 0;
};

struct Allocation {
    u64 size = 0;
    u64 last_reached = 0;
    bool large = false;
};

/// Which handlers run, by the address of their site.
using Reached = std::map<u64, std::vector<const Handler*>>;

class Watch {
  public:
    Watch(TextImage& image, Kprobes& kprobes) : image_(image), kprobes_(kprobes) {}

    /// Where the probe of a handler is; 0: its request is under way.
    std::function<u64(const Handler&)> place_of;

    /// Text of a module that goes: a jump of ours that lies under a kprobe there stays as it is.
    Range leaving;

    // The protocol's steps.
    void before_write(u64 address, const u8* bytes, size_t size);
    void after_write(u64 address, const u8* bytes, size_t size);
    void sync();
    /// All that has been written to live text has been made known to the CPUs.
    bool is_synced() const { return last_text_write_ <= synced_; }
    /// A quiescence begins; hand the result to end_quiescence().
    u64 begin_quiescence();
    void end_quiescence(u64 begun) { quiesced_ = std::max(quiesced_, begun); }

    // What is looked after.
    /// The function that holds `address`: from now on hits there lead to us.
    void touch(u64 address);
    void look_at(u64 address) { asked_.insert(address); }
    void add_handler(Handler& handler) { handlers_[&handler.link] = &handler; }
    void remove_handler(Handler& handler);
    void add_allocation(void* memory, size_t size, bool large);
    void remove_allocation(void* memory, bool large);
    void free_exec(Range range);
    /// Objects, and arrays.
    std::pair<size_t, size_t> count_allocations() const;
    void forget_module();

    /// Stamp all that can be reached now, and see that none of it is broken.
    const Reached& look();
    /// Stamp what hits elsewhere may stand on while they search the table.
    void look_at_table();
    /// Note which traps hits may stand on, and see that none of these is back too early.
    void look_at_links();
    /// Bytes that are neither original nor part of any int3, jump or springboard that leads
    /// somewhere: the first one's address, or 0.
    u64 find_stray();
    /// A byte of `text` that we have changed, but that the kernel's kprobes take for the original
    /// one, or that they may change: its address, or 0.
    u64 find_unshown(Range text) const;
    /// Dead bytes that had to be left behind, since another patcher had changed them.
    void leave_board(u64 address) { left_.insert(address); }
    const std::set<u64>& boards_left() const { return left_; }
    /// The first byte of `text` that is not what it was, but for those; or 0.
    u64 find_changed(Range text) const;
    bool is_jump(u64 address) const { return jumps_.count(address) != 0; }
    /// Whether the jump of the site there leads, at the last look, to code that does the work of
    /// all handlers itself.
    bool is_held(u64 site) const { return held_.contains(site); }
    /// Or to an int3 in such code.
    bool is_bypassed(u64 site) const { return bypassed_.contains(site); }

  private:
    static constexpr u8 kJump = 0xe9, kShortJump = 0xeb;
    enum class Form { Original, Trap, Jump, Garbled };
    struct Board {
        u64 last_reached = 0;
        u64 written = 0;
    };

    bool gone(u64 stamp) const { return stamp == 0 || stamp < quiesced_; }
    void check_wants(const Blob& blob, const djk_site* site, u64 at, bool detour) const;
    Form form_of(const Place& place) const;
    void look_at_function(const Function& function);
    void follow_kprobe(const Place& place);
    void follow_trap(const Place& place);
    u64 jump_target(u64 address) const;
    u64 follow_jump(const Place& place);
    bool leads_on(const Place& place, u64 back);
    u64 follow_code(u64 address, u64 first);
    void arrive(u64 from, u64 address);
    void reach_site(const djk_site* site, u64 address);
    void reach_detour(const Blob& blob, u64 anchor);
    void reach_handler(const djk_handler* handler);
    std::vector<const Handler*> held_in(const Blob& blob) const;
    void check_held(const Blob& blob, const std::vector<const Handler*>& held, u64 anchor) const;
    Blob& blob_at(u64 address, u64 from);
    Allocation& allocation_of(const void* memory, const char* what);
    void check_tail(u64 address, size_t size) const;
    void check_first(const Place& place, u8 byte) const;
    bool is_first(u64 address, const u8* bytes, size_t size);

    TextImage& image_;
    Kprobes& kprobes_;
    std::map<u64, Blob> blobs_;
    std::map<u64, Board> boards_;
    std::map<u64, Allocation> allocations_;
    std::map<const djk_handler*, Handler*> handlers_;
    std::set<u64> asked_;
    std::set<size_t> touched_;  ///< functions
    std::set<u64> jumps_;       ///< where a jump of ours begins
    std::set<u64> landed_;      ///< where code in slots leads back to
    std::map<u64, u64> written_;
    /// What a hit may stand on that searches the table: linked, and taken out (by the clock, and by
    /// looks).
    std::set<const djk_trap*> linked_;
    std::map<const djk_trap*, std::pair<u64, u64>> unlinked_;
    std::set<u64> left_;         ///< springboards that stay
    bool writes_first_ = false;  ///< what is being written is an instruction's first byte
    Reached reached_;
    std::set<u64> held_, bypassed_;
    u64 now_ = 0;       ///< looks
    u64 quiesced_ = 0;  ///< the latest look before a quiescence that is over
    u64 clock_ = 0, synced_ = 0, last_text_write_ = 0;
};

}  // namespace djprobe::model
