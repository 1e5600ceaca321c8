// SPDX-License-Identifier: GPL-2.0
// Writing machine code into a buffer that will run at another address.
#pragma once

#include "types.h"

namespace djprobe::x86 {

/// A place that branches lead to before it is known where it lies.
class Label {
  public:
    /// Nobody binds more branches to one.
    static constexpr size_t kMaxBranches = 4;

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

    void byte(u8 value) {
        if (size_ == buffer_.size()) {
            ok_ = false;
            return;
        }
        buffer_[size_++] = value;
    }
    void bytes(Span<const u8> values) {
        for (const u8 value : values)
            byte(value);
    }
    template <class... Values>
    void code(Values... values) {
        (byte(static_cast<u8>(values)), ...);
    }
    void imm32(u32 value) {
        for (int shift = 0; shift < 32; shift += 8)
            byte(static_cast<u8>(value >> shift));
    }
    void imm64(u64 value) {
        imm32(static_cast<u32>(value));
        imm32(static_cast<u32>(value >> 32));
    }
    /// A displacement to `target` that ends `trailing` bytes before the end of its instruction.
    void rel32(u64 target, size_t trailing = 0) {
        const i64 distance = static_cast<i64>(target - (here() + 4 + trailing));
        ok_ &= fits_i32(distance);
        imm32(static_cast<u32>(distance));
    }

    void jump(u64 target) {
        code(0xe9);
        rel32(target);
    }
    void short_jump(u64 target) {
        code(0xeb);
        const i64 distance = static_cast<i64>(target - (here() + 1));
        ok_ &= distance == static_cast<signed char>(distance);
        byte(static_cast<u8>(distance));
    }
    void call(u64 target) {
        code(0xe8);
        rel32(target);
    }
    /// Jump if not zero (0x5) or zero (0x4), the condition's number in the opcode, to a label that
    /// is bound later.
    void jump_if(u8 condition, Label& label) {
        code(0x0f, 0x80 | condition);
        ok_ &= label.count_ < Label::kMaxBranches;
        if (ok_) label.fields_[label.count_++] = size_;
        imm32(0);
    }
    /// Branches to the label lead here.
    void bind(const Label& label) {
        for (size_t i = 0; i < label.count_ && ok_; ++i) {
            const u32 distance = static_cast<u32>(size_ - (label.fields_[i] + 4));
            for (u8 byte = 0; byte < 4; ++byte)
                buffer_[label.fields_[i] + byte] = static_cast<u8>(distance >> 8 * byte);
        }
    }
    /// Push a 64-bit constant; changes no register and no flag.
    void push(u64 value) {
        if (const auto small = static_cast<signed char>(value); value == static_cast<u64>(small)) {
            code(0x6a, small);
            return;
        }
        code(0x68);
        imm32(static_cast<u32>(value));
        if (!fits_i32(static_cast<i64>(value))) {
            code(0xc7, 0x44, 0x24, 0x04);  // movl $high, 4(%rsp)
            imm32(static_cast<u32>(value >> 32));
        }
    }

  private:
    Span<u8> buffer_;
    u64 address_;
    size_t size_ = 0;
    bool ok_ = true;
};

}  // namespace djprobe::x86
