// SPDX-License-Identifier: GPL-2.0
#include "slots.h"

namespace djprobe::kmod {

/// Some pages of executable memory, and which granules of it are taken.
struct SlotChunk {
    SlotPool* pool;
    SlotChunk *next, *previous;
    u64 memory;
    u32 used;     ///< granules
    u32 no_room;  ///< no run of this many granules is free; 0: not known
    u32 first;    ///< all granules before this one are taken
    u64 taken[SlotPool::kGranules / 64];

    bool is_taken(size_t granule) const { return taken[granule / 64] >> granule % 64 & 1; }
    bool find_room(size_t granules, size_t& place);
    void take(size_t place, size_t granules);
    void give_back(size_t place, size_t granules);
};

Slot& Slot::operator=(Slot&& other) noexcept {
    reset();
    words_ = other.release();
    return *this;
}

u64 Slot::address() const {
    return words_.chunk ? words_.chunk->memory + words_.place * SlotPool::kGranule : 0;
}

void Slot::reset() {
    if (words_.chunk) words_.chunk->give_back(words_.place, words_.granules);
    words_ = {};
}

Slot::Words Slot::release() {
    const Words words = words_;
    words_ = {};
    return words;
}

bool SlotChunk::find_room(size_t granules, size_t& place) {
    if (no_room && granules >= no_room) return false;
    size_t run = 0;
    // The last granule stays free: code that emulates an instruction (of a confidential guest, say)
    // fetches 15 bytes from its start on, and behind the chunk nothing may be mapped.
    for (size_t i = first; i < SlotPool::kGranules - 1; ++i) {
        run = is_taken(i) ? 0 : run + 1;
        if (run == granules) {
            place = i + 1 - granules;
            return true;
        }
    }
    no_room = static_cast<u32>(granules);
    return false;
}

void SlotChunk::take(size_t place, size_t granules) {
    for (size_t i = place; i < place + granules; ++i)
        taken[i / 64] |= u64{1} << i % 64;
    used += static_cast<u32>(granules);
    if (place == first) first += static_cast<u32>(granules);
}

void SlotChunk::give_back(size_t place, size_t granules) {
    for (size_t i = place; i < place + granules; ++i)
        taken[i / 64] &= ~(u64{1} << i % 64);
    used -= static_cast<u32>(granules);
    no_room = 0;
    if (place < first) first = static_cast<u32>(place);
    if (used) return;
    (previous ? previous->next : pool->chunks_) = next;
    if (next) next->previous = previous;
    djk_exec_free(reinterpret_cast<void*>(memory), SlotPool::kChunkSize);
    djk_free(this);
}

SlotChunk* SlotPool::grow() {
    auto* chunk = static_cast<SlotChunk*>(djk_alloc(sizeof(SlotChunk)));
    if (!chunk) return nullptr;
    chunk->memory = reinterpret_cast<u64>(djk_exec_alloc(kChunkSize));
    if (!chunk->memory) {
        djk_free(chunk);
        return nullptr;
    }
    chunk->pool = this;
    chunk->next = chunks_;
    if (chunks_) chunks_->previous = chunk;
    chunks_ = chunk;
    return chunk;
}

Slot SlotPool::take(size_t size) {
    const size_t granules = (size + kGranule - 1) / kGranule;
    size_t place = 0;
    SlotChunk* chunk = chunks_;
    while (chunk && !chunk->find_room(granules, place))
        chunk = chunk->next;
    if (!chunk) chunk = grow();
    if (!chunk) return {};
    chunk->take(place, granules);
    return Slot({chunk, static_cast<u16>(place), static_cast<u16>(granules)});
}

}  // namespace djprobe::kmod
