// SPDX-License-Identifier: GPL-2.0
#include "emit.h"

namespace djprobe::x86 {

void Emitter::byte(u8 value) {
    if (size_ == buffer_.size()) {
        ok_ = false;
        return;
    }
    buffer_[size_++] = value;
}

void Emitter::bytes(Span<const u8> values) {
    for (const u8 value : values)
        byte(value);
}

void Emitter::imm32(u32 value) {
    for (int shift = 0; shift < 32; shift += 8)
        byte(static_cast<u8>(value >> shift));
}

void Emitter::imm64(u64 value) {
    imm32(static_cast<u32>(value));
    imm32(static_cast<u32>(value >> 32));
}

void Emitter::rel32(u64 target, size_t trailing) {
    const i64 distance = static_cast<i64>(target - (here() + 4 + trailing));
    ok_ &= fits_i32(distance);
    imm32(static_cast<u32>(distance));
}

void Emitter::jump(u64 target) {
    byte(0xe9);
    rel32(target);
}

void Emitter::short_jump(u64 target) {
    byte(0xeb);
    const i64 distance = static_cast<i64>(target - (here() + 1));
    ok_ &= distance == static_cast<signed char>(distance);
    byte(static_cast<u8>(distance));
}

void Emitter::jump_back(u64 target) {
    constexpr u64 kReach = 126;
    here() - target <= kReach ? short_jump(target) : jump(target);
}

void Emitter::call(u64 target) {
    byte(0xe8);
    rel32(target);
}

void Emitter::jump_if(Condition condition, Label& label) {
    code(0x0f, 0x80 | static_cast<u8>(condition));
    ok_ &= label.count_ < Label::kMaxBranches;
    if (ok_) label.fields_[label.count_++] = size_;
    imm32(0);
}

void Emitter::bind(const Label& label) {
    for (size_t i = 0; i < label.count_ && ok_; ++i) {
        const u32 distance = static_cast<u32>(size_ - (label.fields_[i] + 4));
        for (u8 byte = 0; byte < 4; ++byte)
            buffer_[label.fields_[i] + byte] = static_cast<u8>(distance >> 8 * byte);
    }
}

void Emitter::push(u64 value) {
    if (const auto small = static_cast<signed char>(value); value == static_cast<u64>(small)) {
        code(0x6a, small);
        return;
    }
    byte(0x68);
    imm32(static_cast<u32>(value));
    if (!fits_i32(static_cast<i64>(value))) {
        code(0xc7, 0x44, 0x24, 0x04);  // movl $high, 4(%rsp)
        imm32(static_cast<u32>(value >> 32));
    }
}

}  // namespace djprobe::x86
