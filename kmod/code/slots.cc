// SPDX-License-Identifier: GPL-2.0
#include "slots.h"

namespace djprobe::kmod {

Slot& Slot::operator=(Slot&& other) noexcept {
    reset();
    pool_ = other.pool_;
    address_ = other.address_;
    granules_ = other.granules_;
    other.address_ = 0;
    return *this;
}

void Slot::reset() {
    if (address_) pool_->give_back(address_, granules_);
    address_ = 0;
}

bool SlotPool::find_room(Chunk& chunk, size_t granules, size_t& first) {
    if (chunk.no_room && granules >= chunk.no_room) return false;
    size_t run = 0;
    // The last granule stays free: code that emulates an instruction (of a confidential guest, say)
    // fetches 15 bytes from its start on, and behind the chunk nothing may be mapped.
    for (size_t i = 0; i < kGranules - 1; ++i) {
        run = chunk.taken[i] ? 0 : run + 1;
        if (run == granules) {
            first = i + 1 - granules;
            return true;
        }
    }
    chunk.no_room = static_cast<u32>(granules);
    return false;
}

void SlotPool::mark(Chunk& chunk, size_t first, size_t granules, u8 taken) {
    for (size_t i = first; i < first + granules; ++i)
        chunk.taken[i] = taken;
    chunk.used =
        taken ? chunk.used + static_cast<u32>(granules) : chunk.used - static_cast<u32>(granules);
    if (!taken) chunk.no_room = 0;
}

SlotPool::Chunk* SlotPool::grow() {
    auto* chunk = static_cast<Chunk*>(djk_alloc(sizeof(Chunk)));
    if (!chunk) return nullptr;
    chunk->memory = reinterpret_cast<u64>(djk_exec_alloc(kChunkSize));
    if (!chunk->memory) {
        djk_free(chunk);
        return nullptr;
    }
    chunk->next = chunks_;
    chunks_ = chunk;
    return chunk;
}

Slot SlotPool::take(size_t size) {
    const size_t granules = (size + kGranule - 1) / kGranule;
    size_t first = 0;
    Chunk* chunk = chunks_;
    while (chunk && !find_room(*chunk, granules, first))
        chunk = chunk->next;
    if (!chunk) chunk = grow();
    if (!chunk) return {};
    mark(*chunk, first, granules, 1);
    Slot slot;
    slot.pool_ = this;
    slot.address_ = chunk->memory + first * kGranule;
    slot.granules_ = static_cast<u32>(granules);
    return slot;
}

void SlotPool::give_back(u64 address, u32 granules) {
    Chunk** link = &chunks_;
    while (address < (*link)->memory || address >= (*link)->memory + kChunkSize)
        link = &(*link)->next;
    Chunk* chunk = *link;
    mark(*chunk, (address - chunk->memory) / kGranule, granules, 0);
    if (chunk->used) return;
    *link = chunk->next;
    djk_exec_free(reinterpret_cast<void*>(chunk->memory), kChunkSize);
    djk_free(chunk);
}

}  // namespace djprobe::kmod
