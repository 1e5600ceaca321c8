// SPDX-License-Identifier: GPL-2.0
#include "watch.h"

#include <cstring>

#include "arch/x86/plan.h"
#include "failure.h"

namespace djprobe::model {
namespace {

constexpr u8 kJump = 0xe9, kShortJump = 0xeb;

u64 address_of(const void* memory) {
    return reinterpret_cast<u64>(memory);
}

template <class T>
T load(u64 address) {
    T value;
    memcpy(&value, reinterpret_cast<const void*>(address), sizeof(T));
    return value;
}

}  // namespace

// ---- What is there.

void Watch::touch(u64 address) {
    const Function* function = image_.function_at(address);
    if (!function || !touched_.insert(function - image_.functions.data()).second) return;
    // Until somebody has looked anybody may be anywhere.
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

// ---- Where it leads.

const Reached& Watch::look() {
    ++now_;
    reached_.clear();
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

/// What the site's handlers want of its code is there.
void Watch::check_wants(const Blob& blob, const djk_site* site, u64 at, bool detour) const {
    unsigned int wants = 0;
    for (const djk_probe* probe = site->probes; probe; probe = probe->next)
        wants |= probe->wants;
    bool after = false, redirects = false;
    for (u64 byte = blob.begin; byte + 2 <= blob.end; ++byte) {
        redirects |= load<u16>(byte) == 0xcf48;  // iretq
        after |= byte + 8 <= blob.end && load<u64>(byte) == (address_of(site) | DJK_AFTER);
    }
    if (wants & DJK_WANTS_AFTER && !after) fail("%#lx: calls nobody behind its instruction", at);
    if (detour && wants & DJK_WANTS_REDIRECT && !redirects)
        fail("%#lx: its detour leads nobody elsewhere", at);
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

/// Of a jump of ours in live text, whoever lies on top of it.
u64 Watch::jump_target(u64 address) const {
    u8 bytes[x86::kJumpLength];
    for (size_t i = 0; i < sizeof(bytes); ++i)
        bytes[i] = kprobes_.byte(address + i);
    if (bytes[0] == kShortJump)
        return address + 2 + static_cast<u64>(static_cast<signed char>(bytes[1]));
    return address + 5 + static_cast<u64>(load<i32>(address_of(bytes) + 1));
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
            // The call is left out.
            if (trap->site || trap->resume <= at || trap->resume >= blob.end)
                fail("%#lx: an int3 in a slot leads to %#lx", at, trap->resume);
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
    for (const djk_probe* probe = site->probes; probe; probe = probe->next) {
        reach_handler(probe);
        handlers.push_back(handlers_.at(probe));
    }
}

void Watch::reach_handler(const djk_probe* probe) {
    const auto found = handlers_.find(probe);
    if (found == handlers_.end() || found->second->destroyed)
        fail("a hit runs a handler that does not exist any more");
    u64& last = found->second->last_reached;
    // Its link leads elsewhere now.
    if (last && last + 1 < now_ && !gone(last))
        fail("a handler is back while a hit may still stand on it");
    last = now_;
}

/// Whose detour is it? It holds the site's address, or that of the one handler that it calls.
void Watch::reach_detour(const Blob& blob, u64 anchor) {
    const djk_site* site = nullptr;
    const Handler* direct = nullptr;
    for (u64 at = blob.begin; at < blob.end; ++at)
        if (djk_find_trap(at)) return;
    for (u64 at = blob.begin; at + 8 <= blob.end; ++at) {
        const u64 word = load<u64>(at) & ~DJK_AFTER;
        if (const auto found = handlers_.find(reinterpret_cast<const djk_probe*>(word));
            found != handlers_.end())
            direct = found->second;
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
        if (site ? trap->site == site : trap->site->probes == &direct->link) address = start;
    }
    if (direct) {
        reach_handler(&direct->link);
        if (direct->program < 0 || direct->needs_context || direct->link.wants)
            fail("%#lx: its detour calls what cannot be called directly", anchor);
        // Under an address that nobody expects: while its handler leaves, a site has none already.
        reached_[address] = {direct};
    } else if (site) {
        if (!address) fail("%#lx: its detour is of a site that is not in the table", anchor);
        reach_site(site, address);
        check_wants(blob, site, anchor, true);
    } else {
        fail("%#lx: leads to %#lx, which calls nobody", anchor, blob.begin);
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

Allocation& Watch::allocation_of(const void* memory, const char* what) {
    const auto next = allocations_.upper_bound(address_of(memory));
    if (next == allocations_.begin() ||
        std::prev(next)->first + std::prev(next)->second.size <= address_of(memory))
        fail("%s at %p lies in memory that has been freed", what, memory);
    return std::prev(next)->second;
}

// ---- Writing.

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
    if (byte == x86::kInt3 && !djk_find_trap(at)) fail("%#lx: an int3 that nobody would know", at);
    if (const Kprobe* kprobe = kprobes_.find(at); kprobe && kprobe->armed)
        fail("%#lx: written over a kprobe of the kernel's", at);
}

void Watch::check_tail(u64 address, size_t size) const {
    for (u64 at = address; at < address + size; ++at) {
        for (const auto& [board, state] : boards_)
            if (at - board < x86::kJumpLength && !gone(state.last_reached))
                fail("%#lx: a springboard is overwritten on which somebody may be", board);
        const Place* place = image_.place_of(at);
        if (!place) continue;
        if (place->start() >= address) {
            if (!gone(place->last_entered))
                fail("%#lx: overwritten while somebody may be right there", place->start());
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
            if (!djk_find_trap(address)) fail("%#lx: an int3 that nobody would know", address);
            return;
        }
        for (const auto& [begin, blob] : blobs_)
            if (begin < address + size && address < blob.end && !gone(blob.last_reached))
                fail("%#lx: a slot is overwritten in which somebody may be", begin);
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

// ---- Memory.

void Watch::add_allocation(void* memory, size_t size, bool large) {
    look_at_table();
    allocations_[address_of(memory)] = {size, 0, large};
}

std::pair<size_t, size_t> Watch::count_allocations() const {
    size_t arrays = 0;
    for (const auto& [address, allocation] : allocations_)
        arrays += allocation.large;
    return {allocations_.size() - arrays, arrays};
}

void Watch::remove_allocation(void* memory, bool large) {
    const auto found = allocations_.find(address_of(memory));
    if (found != allocations_.end()) {
        look_at_links();
        const u64 begin = address_of(memory), end = begin + found->second.size;
        std::erase_if(unlinked_, [&](const auto& out) {
            return address_of(out.first) >= begin && address_of(out.first) < end;
        });
    }
    if (found == allocations_.end()) fail("%p is freed, which nobody has allocated", memory);
    if (found->second.large != large) fail("%p is freed by the wrong function", memory);
    if (found->second.last_reached) {
        look();
        if (!gone(found->second.last_reached))
            fail("%p is freed while a hit may stand on it", memory);
    }
    allocations_.erase(found);
}

void Watch::free_exec(Range range) {
    look();
    for (auto at = blobs_.lower_bound(range.begin); at != blobs_.end() && at->first < range.end;) {
        if (!gone(at->second.last_reached))
            fail("%#lx: a slot is freed in which somebody may be", at->first);
        at = blobs_.erase(at);
    }
}

void Watch::remove_handler(Handler& handler) {
    look();
    if (handler.destroyed) fail("a handler is destroyed twice");
    if (!gone(handler.last_reached)) fail("a handler is destroyed that somebody may be running");
    handler.destroyed = true;
    handlers_.erase(&handler.link);
}

}  // namespace djprobe::model
