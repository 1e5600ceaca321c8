// SPDX-License-Identifier: GPL-2.0
#include "function_copy.h"

namespace djprobe::kmod {
namespace {

// The largest functions of Debian's kernels have some 30 KB; what is larger is a hole between
// sections.
constexpr u64 kMaxFunction = 1 << 20;
constexpr u64 kUsualFunction = 1024;
constexpr u8 kJumpOpcode = 0xe9;

}  // namespace

bool FunctionCopy::load(u64 address) {
    if (!allocate(address)) return false;
    return read(KernelText{});
}

bool FunctionCopy::load(u64 address, const KernelText& text) {
    return allocate(address) && read(text);
}

bool FunctionCopy::load(Range range) {
    return allocate(range) && read(KernelText{});
}

bool FunctionCopy::allocate(u64 address) {
    out_of_memory_ = false;
    u64 start, size;
    return djk_symbol_range(address, &start, &size) && allocate({start, start + size});
}

bool FunctionCopy::allocate(Range range) {
    if (range.size() == 0 || range.size() > kMaxFunction) return false;
    start_ = range.begin;
    size_ = range.size();
    if (room_.size() < size_) room_ = Array<u8>(size_ < kUsualFunction ? kUsualFunction : size_);
    out_of_memory_ = room_.size() < size_;
    if (out_of_memory_) size_ = 0;
    return !out_of_memory_;
}

bool FunctionCopy::read(const KernelText& text) {
    if (!djk_read(room_.data(), start_, size_)) return false;
    if (text.has_kprobes()) recover_foreign();
    return true;
}

void FunctionCopy::overwrite(u64 address, Span<const u8> bytes) {
    const Range here = code().range();
    const u64 begin = address > here.begin ? address : here.begin;
    const u64 end = address + bytes.size() < here.end ? address + bytes.size() : here.end;
    if (begin < end)
        copy_bytes(&room_[begin - here.begin], bytes.from(begin - address).first(end - begin));
}

void FunctionCopy::recover_foreign() {
    u8 original[DJK_KPROBE_BYTES];
    for (size_t i = 0; i < size_; ++i)
        if ((room_[i] == x86::kInt3 || room_[i] == kJumpOpcode) &&
            djk_recover_foreign(start_ + i, original))
            overwrite(start_ + i, original);
}

}  // namespace djprobe::kmod
