// SPDX-License-Identifier: GPL-2.0
// Who could arrive at an address, over a whole text: the kernel-wide half of "nothing lands in the
// JTPR".
//
// A compiler moves parts of a function elsewhere (.cold, .part) and those jump back into its
// middle. Rather than trusting symbol names to find them, every 4 bytes of the text are read as if
// they were the displacement of a branch; where that branch would lead is marked. No direct long
// branch can escape this, whatever its symbol; nor can an address of code that a 4-byte constant
// gives (lea, mov), which is marked likewise. Short branches are the neighbours' business
// (Snapshot). Bytes that only look like a branch mark too much, never too little:
// find_long_branches() and find_long_arrival() tell.
#pragma once

#include "snapshot.h"

namespace djprobe::x86 {

/// One bit per byte of text: something may land there. The owner provides the memory.
class LandingMap {
  public:
    LandingMap() = default;
    /// @param bits zero-filled, bytes_needed(text) long
    LandingMap(Range text, Span<u8> bits) : text_(text), bits_(bits) {}

    static constexpr size_t bytes_needed(Range text) { return (text.size() + 7) / 8; }

    /// Mark one target; ignored outside the text.
    void add(u64 target) {
        if (text_.contains(target)) {
            const u64 bit = target - text_.begin;
            bits_[bit / 8] = static_cast<u8>(bits_[bit / 8] | 1u << bit % 8);
        }
    }
    /// Mark wherever a long branch or an address constant in these bytes could lead. Call it for
    /// consecutive pieces with 3 bytes of overlap; linear in their size.
    void add_long_branches(const Code& code);
    /// Mark every aligned 8-byte word that points into the text (jump tables, stored labels).
    void add_pointers(Span<const u64> words);

    /// Whether anything may land in `targets`. An address outside the text is never marked.
    bool any(Range targets) const;

    Range text() const { return text_; }

  private:
    Range text_;
    Span<u8> bits_;
};

/// Where in `code` 4 bytes could be a long branch's displacement into `targets`, or a sign-extended
/// address there: calls found(address of the 4 bytes, target) -> bool (false: enough).
template <class Found>
void find_long_branches(const Code& code, Range targets, Found&& found) {
    const u8* bytes = code.bytes.data();
    for (size_t i = 0; i + 4 <= code.bytes.size(); ++i) {
        i32 displacement;
        __builtin_memcpy(&displacement, bytes + i, 4);
        const u64 value = static_cast<u64>(static_cast<i64>(displacement));
        const u64 target = code.address + i + 4 + value;
        if (targets.contains(target) && !found(code.address + i, target)) return;
        if (targets.contains(value) && !found(code.address + i, value)) return;
    }
}

/// How the 4 bytes at `field` lead to `target` in `function`, in which they lie: as a branch's
/// displacement (BRANCH_INTO_REGION) or as an address that is taken (POINTER_INTO_REGION), with the
/// instruction in detail[0]; NONE: they only look so. BRANCH_INTO_REGION at the field itself when
/// the function cannot be decoded so far: then nothing is proven.
Refusal find_long_arrival(const Code& function, u64 field, u64 target);

}  // namespace djprobe::x86
