// SPDX-License-Identifier: GPL-2.0
// Memory in which code under test runs on the real CPU.
#pragma once

#include <ostream>

#include "support/code.h"

namespace djprobe::test {

/// Code and data at fixed distances, so that CODE() can refer to them: code is executable and
/// read-only at its address and written through an alias, as a kernel's text is.
class Arena {
  public:
    enum class Place {
        Low,   ///< below 2 GiB: addresses are sign-extended 32-bit values, as a kernel's are
        High,  ///< they are not
    };

    static constexpr size_t kSlot = 0x4000;  ///< where detours go
    static constexpr size_t kExit = 0x6000;
    static constexpr size_t kHandler = 0x6080;
    static constexpr size_t kCallee = 0x6100;
    static constexpr size_t kData = 0x8000;
    static constexpr size_t kStack = 0x9000;
    static constexpr size_t kSize = 0xb000;
    static constexpr size_t kDataSize = kStack - kData;
    static constexpr size_t kStackSize = kSize - kStack;

    explicit Arena(Place place);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    u64 text() const { return reinterpret_cast<u64>(base_); }
    u64 slot() const { return text() + kSlot; }
    u64 data() const { return text() + kData; }
    u64 stack() const { return text() + kStack; }
    Range range() const { return {text(), text() + kSize}; }

    /// Write anywhere in the arena, code included. The caller serializes.
    void write(u64 address, Span<const u8> bytes);
    void write(u64 address, const Bytes& bytes) { write(address, view(bytes)); }

  private:
    u8* base_;
    u8* alias_;
};

inline void PrintTo(Arena::Place place, std::ostream* out) {
    *out << (place == Arena::Place::Low ? "Low" : "High");
}

}  // namespace djprobe::test

// For CODE() that will lie at Arena::text().
#define ARENA_DATA(offset) "rip + 771b + 0x8000 + " #offset  ///< a RIP-relative operand
#define ARENA_EXIT "771b + 0x6000"                           ///< end of the run
#define ARENA_CALLEE "771b + 0x6100"                         ///< see Bench
