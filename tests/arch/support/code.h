// SPDX-License-Identifier: GPL-2.0
// Machine code for tests: assembled when the test is built, so that it can be read.
#pragma once

#include <vector>

#include "arch/x86/insn/types.h"

namespace djprobe::test {

using Bytes = std::vector<u8>;

inline Span<const u8> view(const Bytes& bytes) {
    return {bytes.data(), bytes.size()};
}

/// Bytes of all arguments, one after the other.
template <class... More>
Bytes join(Bytes first, const More&... more) {
    (first.insert(first.end(), more.begin(), more.end()), ...);
    return first;
}

/// The lowest `size` bytes of `value`, as they lie in memory.
inline Bytes little_endian(u64 value, size_t size) {
    Bytes bytes;
    for (size_t i = 0; i < size; ++i)
        bytes.push_back(static_cast<u8>(value >> 8 * i));
    return bytes;
}

/// jmp [rip], with the address behind it: reaches everything.
inline Bytes long_jump(u64 target) {
    return join({0xff, 0x25, 0, 0, 0, 0}, little_endian(target, 8));
}

}  // namespace djprobe::test

/// The bytes of `text` (Intel syntax, no register prefix), with short branches where they reach.
/// Only local numeric labels: the compiler may emit the code more than once.
#define CODE(text)                                                                          \
    ([] {                                                                                   \
        const ::djprobe::u8 *code_begin, *code_end;                                         \
        asm(".pushsection .rodata.djprobe_code, \"a\"\n.intel_syntax noprefix\n771:\n" text \
            "\n772:\n.att_syntax prefix\n.popsection\n"                                     \
            "lea 771b(%%rip), %0\nlea 772b(%%rip), %1"                                      \
            : "=&r"(code_begin), "=r"(code_end));                                           \
        return ::djprobe::test::Bytes(code_begin, code_end);                                \
    }())
