// SPDX-License-Identifier: GPL-2.0
#include "code_writer.h"

#include "../../arch/x86/insn/decode.h"
#include "../border/text_port.h"
#include "slots.h"

namespace djprobe::kmod {

void CodeWriter::add(u64 address, Span<const u8> code) {
    const size_t gap = address - (begin_ + size_);
    // The rest of a slot's last granule belongs to that slot: it may be filled.
    const bool follows = size_ && gap < SlotPool::kGranule;
    if (!follows || size_ + gap + code.size() > kRoom) {
        flush();
        begin_ = address;
    }
    while (begin_ + size_ < address)
        bytes_[size_++] = x86::kInt3;
    for (const u8 byte : code)
        bytes_[size_++] = byte;
}

void CodeWriter::flush() {
    if (!size_) return;
    KernelText text;
    text.write(begin_, {bytes_, size_});
    size_ = 0;
}

}  // namespace djprobe::kmod
