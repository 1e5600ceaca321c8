// SPDX-License-Identifier: GPL-2.0
#include "foreign.h"

#include <cstring>

#include "arch/x86/analysis/plan.h"
#include "failure.h"

namespace djprobe::model {

const Kprobe* Kprobes::find(u64 address) const {
    const auto found = all_.find(address);
    return found == all_.end() ? nullptr : &found->second;
}

bool Kprobes::any_within(Range range) const {
    const auto first = all_.lower_bound(range.begin);
    return first != all_.end() && first->first < range.end;
}

u8 Kprobes::byte(u64 address) const {
    for (auto at = all_.upper_bound(address); at != all_.begin();) {
        --at;
        if (address - at->first >= x86::kMaxRegion) break;
        const size_t hidden = at->second.optimized ? at->second.length : at->second.armed;
        if (address - at->first < hidden) return at->second.saved[address - at->first];
    }
    return *image_.text(address);
}

const djk_patch* Kprobes::find_ours(Range range) const {
    for (const djk_patch* patch : patches)
        if (const djk_extent ours = djk_ours(patch);
            ours.begin < ours.end && range.overlaps({ours.begin, ours.end}))
            return patch;
    return nullptr;
}

bool Kprobes::is_jump_of_ours(u64 address) const {
    const djk_patch* patch = find_ours({address, address + 1});
    return patch && patch->jump && patch->address == address;
}

u8 Kprobes::original_byte(u64 address) const {
    for (const djk_patch* patch : patches)
        if (address - patch->address < patch->length)
            return patch->original[address - patch->address];
    return byte(address);
}

bool Kprobes::tells_truth(u64 address, u8 original) const {
    return original_byte(address) == original && find_ours({address, address + 1}) != nullptr;
}

bool Kprobes::decode(u64 address, x86::Insn& insn) const {
    u8 bytes[x86::kMaxInsnLength];
    for (size_t i = 0; i < sizeof(bytes); ++i)
        bytes[i] = image_.holds(address + i) ? original_byte(address + i) : x86::kInt3;
    return x86::decode({bytes, sizeof(bytes)}, address, insn);
}

/// The kernel decodes the function from its start, without our patches, and gives up at an int3
/// that is none of its own.
bool Kprobes::may_add(u64 address) const {
    const Function* function = image_.function_at(address);
    if (!function || function->blacklisted) return false;
    if (const Kprobe* kprobe = find(address)) return !kprobe->theirs;
    for (const Owned& owned : image_.owned)
        if (owned.range.contains(address)) return false;
    for (const auto& [other, kprobe] : all_)
        if (kprobe.optimized && Range{other, other + kprobe.length}.contains(address)) return false;
    u64 at = function->start;
    x86::Insn insn;
    while (at < address) {
        if (!decode(at, insn) || insn.kind == x86::Kind::Int3) return false;
        at = insn.end();
    }
    if (at != address) return false;
    if (find_ours({address, address + 1})) return is_jump_of_ours(address);
    return decode(at, insn) && insn.kind != x86::Kind::Int3;
}

/// Nothing that is copied may be a branch or ours.
bool Kprobes::may_optimize(u64 address, Kprobe& kprobe) const {
    const Function& function = *image_.function_at(address);
    const u64 end = image_.places[function.first_place + function.place_count - 1].end();
    x86::Insn insn;
    if (find_ours({address, address + x86::kJumpLength})) return false;
    for (u64 at = function.start; at < end; at = insn.end())
        if (!decode(at, insn) || insn.kind == x86::Kind::Int3) return false;
    kprobe.length = 0;
    while (kprobe.length < x86::kJumpLength) {
        const u64 at = address + kprobe.length;
        if (at >= end || !decode(at, insn)) return false;
        if (insn.kind != x86::Kind::Plain && insn.kind != x86::Kind::Nop) return false;
        // A branch that may arrive inside forbids it.
        const Place* place = image_.place_at(at);
        if (at != address && (!place || place->external)) return false;
        for (const Owned& owned : image_.owned)
            if (owned.range.overlaps({at, insn.end()})) return false;
        kprobe.length = static_cast<u8>(kprobe.length + insn.length);
    }
    return kprobe.length <= sizeof(kprobe.saved);
}

bool Kprobes::add(u64 address, bool armed) {
    if (!may_add(address)) return false;
    if (!find(address)) {
        Kprobe kprobe;
        kprobe.optimizable = may_optimize(address, kprobe);
        if (!kprobe.optimizable) kprobe.length = 1;
        const bool as_is = is_jump_of_ours(address);
        for (size_t i = 0; i < kprobe.length; ++i)
            kprobe.saved[i] = as_is ? byte(address + i) : original_byte(address + i);
        all_[address] = kprobe;
        came.push_back(address);
        if (on_new) on_new();
    }
    all_.at(address).theirs = true;
    if (armed) arm(address);
    return true;
}

void Kprobes::set_armed(u64 address) {
    Kprobe& kprobe = all_.at(address);
    const bool wanted = kprobe.wanted || !kprobe.seats.empty();
    if (wanted == kprobe.armed) return;
    if (!wanted) unoptimize(address);
    // A jump that covers it goes, or waits no longer, before its own byte is written.
    for (const auto& [other, before] : all_)
        if (wanted && other < address && address < other + before.length) unoptimize(other);
    if (*image_.text(address) != (wanted ? kprobe.saved[0] : x86::kInt3))
        fail("%#lx: a kprobe was prepared here, now it would overwrite what has been written since",
             address);
    *image_.text(address) = wanted ? x86::kInt3 : kprobe.saved[0];
    kprobe.armed = wanted;
    if (wanted)
        queue(address);
    else
        kprobe.queued = false;
}

bool Kprobes::arm(u64 address) {
    Kprobe& kprobe = all_.at(address);
    if (kprobe.wanted || !kprobe.theirs) return false;
    kprobe.wanted = true;
    set_armed(address);
    return true;
}

bool Kprobes::disarm(u64 address) {
    Kprobe& kprobe = all_.at(address);
    if (!kprobe.wanted) return false;
    kprobe.wanted = false;
    set_armed(address);
    return true;
}

/// The kernel looks for other kprobes, and asks whether bytes are ours.
bool Kprobes::queue(u64 address) {
    Kprobe& kprobe = all_.at(address);
    if (kprobe.queued) return true;
    if (!kprobe.armed || !kprobe.optimizable) return false;
    if (any_within({address + 1, address + kprobe.length})) return false;
    if (find_ours({address, address + x86::kJumpLength})) return false;
    kprobe.queued = true;
    return true;
}

bool Kprobes::optimize(u64 address) {
    Kprobe& kprobe = all_.at(address);
    if (kprobe.optimized || !queue(address)) return false;
    for (u64 i = 1; i < kprobe.length; ++i)
        if (*image_.text(address + i) != kprobe.saved[i])
            fail("%#lx: a kprobe's jump overwrites what has been written since its registration",
                 address);
    kprobe.optimized = true;
    const u8 jump[x86::kJumpLength] = {0xe9, 0x00, 0x00, 0x10, 0x00};
    memcpy(image_.text(address), jump, sizeof(jump));
    return true;
}

bool Kprobes::unoptimize(u64 address) {
    Kprobe& kprobe = all_.at(address);
    kprobe.queued = false;
    if (!kprobe.optimized) return false;
    kprobe.optimized = false;
    memcpy(image_.text(address), kprobe.saved, x86::kJumpLength);
    *image_.text(address) = x86::kInt3;
    return true;
}

bool Kprobes::remove(u64 address) {
    const Kprobe* kprobe = find(address);
    if (!kprobe || !kprobe->theirs) return false;
    disarm(address);
    all_.at(address).theirs = false;
    if (all_.at(address).seats.empty()) all_.erase(address);
    return true;
}

bool Kprobes::join(djk_seat& seat) {
    if (!find(seat.address)) {
        if (!add(seat.address, false)) return false;
        all_.at(seat.address).theirs = false;
    }
    all_.at(seat.address).seats.push_back(&seat);
    set_armed(seat.address);
    return true;
}

void Kprobes::leave(djk_seat& seat) {
    // Gone with its module.
    if (!find(seat.address)) return;
    Kprobe& kprobe = all_.at(seat.address);
    std::erase(kprobe.seats, &seat);
    set_armed(seat.address);
    left_.insert(seat.address);
}

void Kprobes::give_up_left() {
    for (const u64 address : left_)
        if (const Kprobe* kprobe = find(address);
            kprobe && kprobe->seats.empty() && !kprobe->theirs)
            all_.erase(address);
    left_.clear();
}

void Kprobes::forget(Range text) {
    all_.erase(all_.lower_bound(text.begin), all_.lower_bound(text.end));
}

}  // namespace djprobe::model
