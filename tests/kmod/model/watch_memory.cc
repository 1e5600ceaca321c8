// SPDX-License-Identifier: GPL-2.0
// What hits may stand on must not be freed: objects, slots and handlers.
#include "failure.h"
#include "watch.h"

namespace djprobe::model {
namespace {

u64 address_of(const void* memory) {
    return reinterpret_cast<u64>(memory);
}

}  // namespace

Allocation& Watch::allocation_of(const void* memory, const char* what) {
    const auto next = allocations_.upper_bound(address_of(memory));
    if (next == allocations_.begin() ||
        std::prev(next)->first + std::prev(next)->second.size <= address_of(memory))
        fail("%s at %p lies in memory that has been freed", what, memory);
    return std::prev(next)->second;
}

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
    if (found == allocations_.end()) fail("%p is freed but was never allocated", memory);
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
            fail("%#lx: a slot is freed in which a task may be", at->first);
        at = blobs_.erase(at);
    }
}

void Watch::remove_handler(Handler& handler) {
    look();
    if (handler.destroyed) fail("a handler is destroyed twice");
    if (!gone(handler.last_reached)) fail("a handler is destroyed that a task may be running");
    handler.destroyed = true;
    handlers_.erase(&handler.link);
}

}  // namespace djprobe::model
