// SPDX-License-Identifier: GPL-2.0
// Writing machine code into a buffer that will run at another address.
#pragma once

#include "../insn/types.h"

namespace djprobe::x86 {

/// A jcc's condition, by its number in opcodes (Intel SDM vol. 2, appendix B.1.4.7).
enum class Condition : u8 {
    Below = 2,
    AboveOrEqual = 3,
    Zero = 4,
    NotZero = 5,
    BelowOrEqual = 6,
    Above = 7,
    Less = 12,
    GreaterOrEqual = 13,
    LessOrEqual = 14,
    Greater = 15,
};

/// A place that branches lead to before it is known where it lies.
class Label {
  public:
    /// The most branches that a label has in any detour.
    static constexpr size_t kMaxBranches = 14;

  private:
    friend class Emitter;
    size_t fields_[kMaxBranches] = {};
    size_t count_ = 0;
};

/// Appends bytes; remembers instead of failing when the buffer is full or a displacement does not
/// reach, so that emission reads straight and is checked once, with ok().
class Emitter {
  public:
    /// @param address where buffer[0] will run
    Emitter(Span<u8> buffer, u64 address) : buffer_(buffer), address_(address) {}

    bool ok() const { return ok_; }
    size_t size() const { return size_; }
    /// Where the next byte will run.
    u64 here() const { return address_ + size_; }

    /// Where relocated returns jump, on a CPU where a plain return is not safe (the kernel's return
    /// thunks against Retbleed and SRSO). 0: they return.
    void return_through(u64 thunk) { return_thunk_ = thunk; }
    u64 return_thunk() const { return return_thunk_; }

    void byte(u8 value);
    void bytes(Span<const u8> values);
    // Always inline: the kernel's build has no room for a function that several objects hold.
    template <class... Values>
    [[gnu::always_inline]] void code(Values... values) {
        (byte(static_cast<u8>(values)), ...);
    }
    void imm32(u32 value);
    void imm64(u64 value);
    /// A displacement to `target` that ends `trailing` bytes before the end of its instruction.
    void rel32(u64 target, size_t trailing = 0);

    void jump(u64 target);
    void short_jump(u64 target);
    /// A jump to an address that this emitter has already written: the shortest form that reaches.
    void jump_back(u64 target);
    void call(u64 target);
    /// jcc to a label that is bound later.
    void jump_if(Condition condition, Label& label);
    /// Branches to the label lead here.
    void bind(const Label& label);
    /// Push a 64-bit constant; changes no register and no flag.
    void push(u64 value);

  private:
    Span<u8> buffer_;
    u64 address_;
    size_t size_ = 0;
    u64 return_thunk_ = 0;
    bool ok_ = true;
};

}  // namespace djprobe::x86
