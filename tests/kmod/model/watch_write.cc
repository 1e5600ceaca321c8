// SPDX-License-Identifier: GPL-2.0
// What the protocol writes and in which order: nothing that a task may be in, and no rest of an
// instruction without an int3 before it that all CPUs know.
#include "arch/x86/analysis/plan.h"
#include "failure.h"
#include "watch.h"

namespace djprobe::model {

/// One byte at the start of an instruction, or the bytes behind it?
bool Watch::is_first(u64 address, const u8* bytes, size_t size) {
    if (size != 1 || !image_.place_at(address)) return false;
    const u8 now = *image_.text(address);
    // Distances may look like an int3.
    return (bytes[0] == x86::kInt3 || now == x86::kInt3) && djk_find_trap(address);
}

void Watch::check_first(const Place& place, u8 byte) const {
    const u64 at = place.start();
    const u8 now = *image_.text(at);
    const bool trap = now == x86::kInt3;
    const auto written = written_.find(at);
    if (byte != x86::kInt3 && !trap) fail("%#lx: %02x over %02x, without an int3", at, byte, now);
    if (trap && written != written_.end() && written->second > synced_)
        fail("%#lx: written twice without a core sync", at);
    if (byte == x86::kInt3 && !djk_find_trap(at))
        fail("%#lx: an int3 that the trap handler would not know", at);
    if (const Kprobe* kprobe = kprobes_.find(at); kprobe && kprobe->armed)
        fail("%#lx: written over a kprobe of the kernel's", at);
}

void Watch::check_tail(u64 address, size_t size) const {
    for (u64 at = address; at < address + size; ++at) {
        for (const auto& [board, state] : boards_)
            if (at - board < x86::kJumpLength && !gone(state.last_reached))
                fail("%#lx: a springboard is overwritten on which a task may be", board);
        const Place* place = image_.place_of(at);
        if (!place) continue;
        if (place->start() >= address) {
            if (!gone(place->last_entered))
                fail("%#lx: overwritten while a task may be right there", place->start());
            continue;
        }
        const auto written = written_.find(place->start());
        if (*image_.text(place->start()) != x86::kInt3)
            fail("%#lx: overwritten without an int3 before it", at);
        if (written == written_.end() || written->second > synced_)
            fail("%#lx: overwritten while some CPU may not know of the int3 before it", at);
    }
    if (kprobes_.any_within({address, address + size}))
        for (const auto& [at, kprobe] : kprobes_.all())
            if (kprobe.armed && at >= address && at < address + size)
                fail("%#lx: a kprobe of the kernel's is overwritten", at);
}

void Watch::before_write(u64 address, const u8* bytes, size_t size) {
    look_at_links();
    if (image_.exec().contains(address)) {
        look();
        if (size == 1 && bytes[0] == x86::kInt3) {
            if (!djk_find_trap(address))
                fail("%#lx: an int3 that the trap handler would not know", address);
            return;
        }
        for (const auto& [begin, blob] : blobs_)
            if (begin < address + size && address < blob.end && !gone(blob.last_reached))
                fail("%#lx: a slot is overwritten in which a task may be", begin);
        return;
    }
    if (!image_.holds(address) || !image_.holds(address + size - 1))
        fail("%#lx: %zu bytes are written that are no text", address, size);
    touch(address);
    writes_first_ = is_first(address, bytes, size);
    if (writes_first_)
        check_first(*image_.place_at(address), bytes[0]);
    else
        check_tail(address, size);
}

void Watch::after_write(u64 address, const u8* bytes, size_t size) {
    ++clock_;
    if (image_.exec().contains(address)) {
        if (size == 1 && bytes[0] == x86::kInt3) return;
        for (auto at = blobs_.begin(); at != blobs_.end();)
            at = at->first < address + size && address < at->second.end ? blobs_.erase(at)
                                                                        : std::next(at);
        blobs_[address] = {address, address + size, clock_, 0};
        return;
    }
    last_text_write_ = clock_;
    const Place* first = image_.place_at(address);
    for (u64 at = address; at < address + size; ++at)
        written_[at] = clock_;
    if (writes_first_) {
        if (bytes[0] == x86::kInt3 || *image_.original(address) == bytes[0]) jumps_.erase(address);
        if ((bytes[0] == kJump || bytes[0] == kShortJump) &&
            !image_.is_original(address, first->insn.length)) {
            // Its tail was there before, for all CPUs.
            for (u64 at = address + 1; at < address + (bytes[0] == kJump ? 5 : 2); ++at)
                if (const auto tail = written_.find(at);
                    tail != written_.end() && tail->second > synced_)
                    fail("%#lx: a jump whose rest is not known to all CPUs", address);
            jumps_.insert(address);
        }
    }
    if (size == x86::kJumpLength && !image_.place_of(address)) {
        if (bytes[0] == kJump && !image_.is_original(address, size)) {
            boards_[address].written = clock_;
        } else {
            boards_.erase(address);
        }
    }
    look();
}

u64 Watch::begin_quiescence() {
    if (!is_synced()) fail("a quiescence begins before all CPUs know the text");
    look_at_links();
    look();
    return now_;
}

}  // namespace djprobe::model
