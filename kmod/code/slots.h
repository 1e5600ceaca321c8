// SPDX-License-Identifier: GPL-2.0
// Executable memory for detours, in pieces.
#pragma once

#include "../../arch/x86/insn/types.h"
#include "../glue/kernel.h"

namespace djprobe::kmod {

class SlotPool;

/// A piece of executable memory; gives itself back. Giving back writes no text and waits for
/// nobody: only destroy a slot that no CPU can be in.
class Slot {
  public:
    Slot() = default;
    Slot(Slot&& other) noexcept { *this = static_cast<Slot&&>(other); }
    Slot& operator=(Slot&& other) noexcept;
    ~Slot() { reset(); }

    u64 address() const { return address_; }
    explicit operator bool() const { return address_ != 0; }
    void reset();

  private:
    friend class SlotPool;
    SlotPool* pool_ = nullptr;
    u64 address_ = 0;
    u32 granules_ = 0;
};

/// Grows by a chunk when full, gives a chunk back when its last slot goes. Under the registry lock.
class SlotPool {
  public:
    /// Slots begin at multiples of it.
    static constexpr size_t kGranule = 16;

    /// A slot of at least `size` bytes; an empty one when out of memory.
    [[nodiscard]] Slot take(size_t size);

  private:
    friend class Slot;
    static constexpr size_t kChunkSize = 16384;
    static constexpr size_t kGranules = kChunkSize / kGranule;

    struct Chunk {
        Chunk* next;
        u64 memory;
        u32 used;     ///< granules
        u32 no_room;  ///< no run of so many granules is free; 0: not known
        u8 taken[kGranules];
    };

    static bool find_room(Chunk& chunk, size_t granules, size_t& first);
    static void mark(Chunk& chunk, size_t first, size_t granules, u8 taken);
    Chunk* grow();
    void give_back(u64 address, u32 granules);

    Chunk* chunks_ = nullptr;
};

}  // namespace djprobe::kmod
