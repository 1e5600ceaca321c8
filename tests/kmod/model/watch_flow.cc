// SPDX-License-Identifier: GPL-2.0
// Where a hit goes from the text as it is: stamp what it comes to, and see that it is whole.
#include <algorithm>
#include <cstring>

#include "arch/x86/analysis/plan.h"
#include "failure.h"
#include "watch.h"

namespace djprobe::model {
namespace {

template <class T>
T load(u64 address) {
    T value;
    memcpy(&value, reinterpret_cast<const void*>(address), sizeof(T));
    return value;
}

}  // namespace

/// What the site's handlers want of its code is there.
void Watch::check_wants(const Blob& blob, const djk_site* site, u64 at, bool detour) const {
    unsigned int wants = 0;
    for (const djk_handler* handler = site->handlers; handler; handler = handler->next)
        wants |= handler->wants;
    bool after = false, redirects = false;
    for (u64 byte = blob.begin; byte + 2 <= blob.end; ++byte) {
        redirects |= load<u16>(byte) == 0xcf48;  // iretq
        after |=
            byte + 8 <= blob.end && load<u64>(byte) == (reinterpret_cast<u64>(site) | DJK_AFTER);
    }
    if (wants & DJK_WANTS_AFTER && !after)
        fail("%#lx: calls no handler behind its instruction", at);
    if (detour && wants & DJK_WANTS_REDIRECT && !redirects)
        fail("%#lx: its detour leads no task elsewhere", at);
}

void Watch::look_at_table() {
    for (const u64 address : asked_)
        if (const djk_trap* trap = djk_find_trap(address))
            allocation_of(trap, "a trap").last_reached = now_;
}

void Watch::look_at_function(const Function& function) {
    landed_.clear();
    u64 covered = 0;
    bool falls = false;
    for (size_t i = 0; i < function.place_count; ++i) {
        Place& place = image_.places[function.first_place + i];
        const bool inside = place.start() < covered;
        const bool arrives = place.external || falls || landed_.count(place.start());
        falls = false;
        // The bytes of a jump's tail look like anything.
        Form form = inside ? Form::Garbled : form_of(place);
        if (inside && kprobes_.byte(place.start()) == x86::kInt3 && djk_find_trap(place.start()))
            form = Form::Trap;
        if (!arrives) {
            if (form == Form::Jump) covered = follow_jump(place);
            continue;
        }
        place.last_entered = now_;
        switch (form) {
            case Form::Original:
                follow_kprobe(place);
                falls = !place.insn.is_terminal();
                break;
            case Form::Trap:
                follow_trap(place);
                break;
            case Form::Jump:
                covered = follow_jump(place);
                break;
            case Form::Garbled:
                fail("%#lx: a CPU can arrive in bytes that are neither original nor ours",
                     place.start());
        }
    }
}

/// The sites that take part in the kernel's kprobe.
void Watch::follow_kprobe(const Place& place) {
    const Kprobe* kprobe = kprobes_.find(place.start());
    if (!kprobe || !kprobe->armed) return;
    for (const djk_seat* seat : kprobe->seats)
        reach_site(seat->site, place.start());
}

void Watch::follow_trap(const Place& place) {
    const djk_trap* trap = djk_find_trap(place.start());
    allocation_of(trap, "a trap").last_reached = now_;
    if (trap->address != place.start()) fail("%#lx: found a trap for elsewhere", place.start());
    if (trap->site) reach_site(trap->site, place.start());
    Blob& blob = blob_at(trap->resume, place.start());
    blob.last_reached = now_;
    if (trap->site) check_wants(blob, trap->site, place.start(), false);
    // A slide's anchor goes through the detour.
    if (!trap->site) reach_detour(blob, place.start());
    const u64 back = follow_code(trap->resume, trap->site ? place.start() : 0);
    if (back && !leads_on(place, back))
        fail("%#lx: a hit would resume at %#lx, which leads to %#lx", place.start(), trap->resume,
             back);
}

/// Where the instructions from `place` on may leave to: behind one of them, or where one branches.
bool Watch::leads_on(const Place& place, u64 back) {
    for (const Place* next = &place; next && next->start() < place.start() + x86::kMaxRegion;
         next = image_.place_at(next->end()))
        if (next->end() == back || next->insn.target == back) return true;
    return false;
}

/// Where a jump of ours in live text leads, even where another patch lies on top of it.
u64 Watch::jump_target(u64 address) const {
    u8 bytes[x86::kJumpLength];
    for (size_t i = 0; i < sizeof(bytes); ++i)
        bytes[i] = kprobes_.byte(address + i);
    if (bytes[0] == kShortJump)
        return address + 2 + static_cast<u64>(static_cast<signed char>(bytes[1]));
    return address + 5 + static_cast<u64>(load<i32>(reinterpret_cast<u64>(bytes + 1)));
}

/// Returns the end of what the jump replaces.
u64 Watch::follow_jump(const Place& place) {
    const u64 at = place.start();
    u64 target = jump_target(at);
    u64 covered = at + x86::kJumpLength;
    if (kprobes_.byte(at) == kShortJump) {
        const u64 board = target;
        const auto found = boards_.find(board);
        if (found == boards_.end()) fail("%#lx: leads to %#lx, which is no springboard", at, board);
        if (found->second.written > synced_)
            fail("%#lx: its springboard is not known to all CPUs", at);
        found->second.last_reached = now_;
        target = jump_target(board);
        covered = at + x86::kShortJumpLength;
    }
    Blob& blob = blob_at(target, at);
    blob.last_reached = now_;
    reach_detour(blob, at);
    const u64 back = follow_code(target, 0);
    // Up to where it leads back to, or to the instruction that ends it; what follows is filler.
    for (const Place* next = &place; next; next = image_.place_at(next->end())) {
        covered = std::max(covered, next->end());
        const bool ends = next->insn.is_terminal() || next->insn.is_call();
        if (next->end() == back || (ends && (!back || next->insn.target == back))) break;
    }
    return covered;
}

/// Walk code in a slot up to where it leaves for good, which is returned (0: by no direct jump).
/// With `first`, the instruction there comes first.
u64 Watch::follow_code(u64 address, u64 first) {
    const Blob& blob = blob_at(address, address);
    if (const Place* place = first ? image_.place_at(first) : nullptr) {
        const bool copied =
            place->insn.kind == x86::Kind::Plain && place->insn.rip_disp_offset == 0;
        if (copied && memcmp(image_.text(address), image_.original(first), place->insn.length) != 0)
            fail("%#lx: a hit would resume at %#lx, in another site's code", first, address);
    }
    for (u64 at = address; at < blob.end;) {
        x86::Insn insn;
        if (const djk_trap* trap = djk_find_trap(at)) {
            // What the detour holds is left out, and the site's handlers run.
            if (!trap->site || trap->resume <= at || trap->resume >= blob.end)
                fail("%#lx: an int3 in a slot leads to %#lx", at, trap->resume);
            reach_site(trap->site, trap->site->trap.address);
            bypassed_.insert(trap->site->trap.address);
            allocation_of(trap, "a bypass").last_reached = now_;
            at = trap->resume;
            continue;
        }
        if (!x86::decode({image_.text(at), static_cast<size_t>(blob.end - at)}, at, insn))
            fail("%#lx: code in a slot that cannot be decoded, from %#lx on", at, address);
        if (insn.rel_size && image_.holds(insn.target)) arrive(at, insn.target);
        if (insn.is_terminal())
            return insn.kind == x86::Kind::Jump && image_.holds(insn.target) ? insn.target : 0;
        at = insn.end();
    }
    return 0;
}

void Watch::arrive(u64 from, u64 address) {
    const Place* place = image_.place_at(address);
    if (!place) {
        // Behind the last instruction there is nothing; a call's copy ends there.
        fail("%#lx: leads to %#lx, which is no instruction", from, address);
    }
    landed_.insert(address);
}

void Watch::reach_site(const djk_site* site, u64 address) {
    allocation_of(site, "a site").last_reached = now_;
    std::vector<const Handler*>& handlers = reached_[address];
    handlers.clear();
    bool counts = true;
    for (const djk_handler* handler = site->handlers; handler; handler = handler->next) {
        if (handler->counter && !counts) fail("%#lx: counts behind other handlers", address);
        counts = handler->counter != 0;
        reach_handler(handler);
        handlers.push_back(handlers_.at(handler));
    }
}

void Watch::reach_handler(const djk_handler* handler) {
    const auto found = handlers_.find(handler);
    if (found == handlers_.end() || found->second->destroyed)
        fail("a hit runs a handler that does not exist any more");
    u64& last = found->second->last_reached;
    // Its link leads elsewhere now.
    if (last && last + 1 < now_ && !gone(last))
        fail("a handler is back while a hit may still stand on it");
    last = now_;
}

/// The handlers whose work the code does itself, in its order: it holds their counters, and the
/// address of the one whose program it calls.
std::vector<const Handler*> Watch::held_in(const Blob& blob) const {
    std::map<u64, const Handler*> found;
    const auto look_for = [&](auto value, const Handler* handler) {
        for (u64 at = blob.begin; at + sizeof(value) <= blob.end; ++at)
            if (load<decltype(value)>(at) == value) {
                found[at] = handler;
                return;
            }
    };
    for (const auto& [link, handler] : handlers_) {
        const i64 counter = link->counter;
        if (!counter)
            look_for(reinterpret_cast<u64>(link), handler);
        else if (fits_i32(counter))
            look_for(static_cast<i32>(counter), handler);
        else
            look_for(counter, handler);
    }
    // What a call rarely runs stands behind all else, and holds the handler's address.
    std::vector<const Handler*> held;
    for (const auto& [at, handler] : found)
        held.push_back(handler);
    return held;
}

void Watch::check_held(const Blob& blob, const std::vector<const Handler*>& held,
                       u64 anchor) const {
    bool filtered = false;
    for (const Handler* handler : held) {
        const bool callable = handler->program >= 0 && !handler->needs_context;
        if ((!callable && !handler->link.counter) || handler->link.wants)
            fail("%#lx: its detour calls what cannot be called directly", anchor);
        if (!handler->link.counter && handler != held.back())
            fail("%#lx: its detour counts behind a call", anchor);
        filtered |= handler->is_filtered();
    }
    bool asks = false;
    for (u64 at = blob.begin; at + sizeof(u64) <= blob.end; ++at)
        asks |= load<u64>(at) == kConditionMark;
    if (asks != filtered) fail("%#lx: its detour has other conditions than its handlers", anchor);
}

/// Whose detour is it? It holds the site's address, or what tells its handlers.
void Watch::reach_detour(const Blob& blob, u64 anchor) {
    const djk_site* site = nullptr;
    // An int3 leads past what it holds.
    for (u64 at = blob.begin; at < blob.end; ++at)
        if (djk_find_trap(at)) return;
    const std::vector<const Handler*> held = held_in(blob);
    for (u64 at = blob.begin; at + 8 <= blob.end; ++at) {
        const u64 word = load<u64>(at) & ~DJK_AFTER;
        const auto allocation = allocations_.upper_bound(word);
        if (allocation != allocations_.begin() && std::prev(allocation)->first == word)
            site = reinterpret_cast<const djk_site*>(word);
    }
    u64 address = 0;
    const Function* function = image_.function_at(anchor);
    for (size_t i = 0; i < function->place_count && !address; ++i) {
        const u64 start = image_.places[function->first_place + i].start();
        if (start < anchor) continue;
        const djk_trap* trap = djk_find_trap(start);
        if (!trap || !trap->site) continue;
        const auto is_of_one = [&](const Handler* handler) {
            for (const djk_handler* one = trap->site->handlers; one; one = one->next)
                if (one == &handler->link) return true;
            return false;
        };
        if (site ? trap->site == site : std::ranges::any_of(held, is_of_one)) address = start;
    }
    // A site at rest is in no table.
    if (!held.empty() && !djk_find_trap(anchor) && !leaving.contains(anchor)) {
        if (address) fail("%#lx: a site at rest is in the table", anchor);
        if (held.size() > 1 || !held[0]->link.counter)
            fail("%#lx: a site at rest does more than to count", anchor);
        address = place_of(*held[0]);
        if (address && (address < anchor || address >= anchor + x86::kMaxRegion))
            fail("%#lx: a site at rest counts for %#lx", anchor, address);
    }
    if (!held.empty()) {
        check_held(blob, held, anchor);
        for (const Handler* handler : held)
            reach_handler(&handler->link);
        // Under an address that no check expects: while its handlers leave, a site may have none
        // already.
        reached_[address] = held;
        held_.insert(address);
    } else if (site) {
        if (!address && leaving.contains(anchor)) return;
        if (!address) fail("%#lx: its detour is of a site that is not in the table", anchor);
        reach_site(site, address);
        check_wants(blob, site, anchor, true);
    } else {
        fail("%#lx: leads to %#lx, which calls no handler", anchor, blob.begin);
    }
}

Blob& Watch::blob_at(u64 address, u64 from) {
    const auto next = blobs_.upper_bound(address);
    if (next == blobs_.begin() || std::prev(next)->second.end <= address)
        fail("%#lx: leads to %#lx, where no code is", from, address);
    Blob& blob = std::prev(next)->second;
    if (blob.written > synced_)
        fail("%#lx: leads to code at %#lx that is not known to all CPUs", from, address);
    return blob;
}

}  // namespace djprobe::model
