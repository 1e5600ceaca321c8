// SPDX-License-Identifier: GPL-2.0
#include "watch.h"

#include <algorithm>

#include "arch/x86/analysis/plan.h"
#include "failure.h"

namespace djprobe::model {

// ---- What is there.

void Watch::touch(u64 address) {
    const Function* function = image_.function_at(address);
    if (!function || !touched_.insert(function - image_.functions.data()).second) return;
    // Until the watch has looked once, a task may be anywhere.
    for (size_t i = 0; i < function->place_count; ++i)
        image_.places[function->first_place + i].last_entered = now_ + 1;
}

void Watch::forget_module() {
    for (auto at = jumps_.begin(); at != jumps_.end();)
        at = image_.module().contains(*at) ? jumps_.erase(at) : std::next(at);
    for (auto at = boards_.begin(); at != boards_.end();)
        at = image_.module().contains(at->first) ? boards_.erase(at) : std::next(at);
    for (auto at = touched_.begin(); at != touched_.end();)
        at = image_.functions[*at].in_module ? touched_.erase(at) : std::next(at);
}

Watch::Form Watch::form_of(const Place& place) const {
    if (jumps_.count(place.start())) {
        // One of the kernel's own that lies on top hides it.
        return Form::Jump;
    }
    bool changed = false;
    for (u64 at = place.start() + 1; at < place.end(); ++at)
        changed |= kprobes_.byte(at) != *image_.original(at);
    const u8 first = kprobes_.byte(place.start());
    if (first == *image_.original(place.start())) return changed ? Form::Garbled : Form::Original;
    return first == x86::kInt3 && djk_find_trap(place.start()) ? Form::Trap : Form::Garbled;
}

u64 Watch::find_changed(Range text) const {
    for (u64 at = text.begin; at < text.end; ++at) {
        if (*image_.text(at) == *image_.original(at)) continue;
        const auto left = left_.upper_bound(at);
        if (left == left_.begin() || at - *std::prev(left) >= x86::kJumpLength) return at;
    }
    return 0;
}

u64 Watch::find_stray() {
    for (const size_t index : touched_) {
        const Function& function = image_.functions[index];
        const Range text = {function.start, function.start + function.size};
        u64 covered = 0;
        for (u64 at = text.begin; at < text.end; ++at) {
            if (jumps_.count(at)) {
                const u64 end = follow_jump(*image_.place_at(at));
                covered = std::max(covered, end);
            }
            if (at < covered || kprobes_.byte(at) == *image_.original(at)) continue;
            const auto board = boards_.upper_bound(at);
            if (board != boards_.begin() && at - std::prev(board)->first < x86::kJumpLength)
                continue;
            if (kprobes_.byte(at) == x86::kInt3 && djk_find_trap(at)) continue;
            return at;
        }
    }
    return 0;
}

u64 Watch::find_unshown(Range text) const {
    for (u64 at = text.begin; at < text.end; ++at) {
        const u8 original = *image_.original(at);
        if (kprobes_.byte(at) != original && !kprobes_.tells_truth(at, original)) return at;
    }
    return 0;
}

// ---- When it is looked at; watch_flow.cc does the looking.

const Reached& Watch::look() {
    ++now_;
    reached_.clear();
    held_.clear();
    bypassed_.clear();
    look_at_table();
    for (const size_t index : touched_)
        look_at_function(image_.functions[index]);
    return reached_;
}

void Watch::sync() {
    look_at_links();
    synced_ = ++clock_;
}

/// A hit that has begun before a trap was taken out may stand on its link: it must not come back,
/// with a link that leads elsewhere, before all CPUs have synchronized.
void Watch::look_at_links() {
    std::set<const djk_trap*> linked;
    for (const djk_trap* trap : djp_traps)
        for (; trap; trap = trap->next)
            linked.insert(trap);
    for (const djk_trap* trap : linked_)
        if (!linked.count(trap)) unlinked_[trap] = {++clock_, now_};
    for (const djk_trap* trap : linked) {
        const auto out = unlinked_.find(trap);
        if (out == unlinked_.end()) continue;
        const auto [clock, look] = out->second;
        if (clock > synced_ && !gone(look))
            fail("%#lx: a trap is back in the table while a hit may stand on its link",
                 trap->address);
        unlinked_.erase(out);
    }
    linked_ = std::move(linked);
}

}  // namespace djprobe::model
