// SPDX-License-Identifier: GPL-2.0
// Executable memory for detours, in pieces.
#pragma once

#include "../../arch/x86/insn/types.h"
#include "../glue/kernel.h"

namespace djprobe::kmod {

class SlotPool;
struct SlotChunk;

/// A piece of executable memory, which gives itself back. That writes no text and does not wait:
/// only destroy a slot that no CPU can be in. Under the registry lock.
class Slot {
  public:
    /// A slot that nobody owns but the owner of these words.
    struct Words {
        SlotChunk* chunk;
        u16 place, granules;
    };

    Slot() = default;
    explicit Slot(const Words& words) : words_(words) {}
    Slot(Slot&& other) noexcept { *this = static_cast<Slot&&>(other); }
    Slot& operator=(Slot&& other) noexcept;
    ~Slot() { reset(); }

    u64 address() const;
    explicit operator bool() const { return words_.chunk != nullptr; }
    void reset();
    /// Give the slot up without giving it back: Slot(words) owns it again.
    Words release();

  private:
    Words words_ = {};
};

/// All slots. The pool grows by a chunk when it is full, and frees a chunk when its last slot goes.
/// Under the registry lock.
class SlotPool {
  public:
    /// Slots begin at its multiples.
    static constexpr size_t kGranule = 16;

    /// A slot of at least `size` bytes, with old bytes in it; an empty one when out of memory. May
    /// sleep.
    [[nodiscard]] Slot take(size_t size);

  private:
    friend class Slot;
    friend struct SlotChunk;
    static constexpr size_t kChunkSize = 16384;
    static constexpr size_t kGranules = kChunkSize / kGranule;
    static_assert(kGranules < 1 << 16);

    SlotChunk* grow();

    SlotChunk* chunks_ = nullptr;
};

}  // namespace djprobe::kmod
