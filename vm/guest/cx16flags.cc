// SPDX-License-Identifier: GPL-2.0
// cx16flags: does cmpxchg16b leave flags that a CPU can have? QEMU 7.2 takes those that it
// leaves alone from a stale state; see vm/lib/qemu.sh.
#include <cpuid.h>

#include <cstdint>
#include <cstdio>

namespace {

constexpr uint64_t kDefined = (uint64_t{1} << 22) - 1;  // RFLAGS; above it all bits are 0

uint64_t flags_after(uint64_t compared) {
    alignas(16) static uint64_t pair[2] = {1, 2};
    uint64_t flags = 0, low = 3, high = 4;
    // popfq ends QEMU's block with the flags as they are; then a comparison changes what they would
    // be computed from.
    asm volatile(
        "pushfq; popfq; jmp 1f\n"
        "1: cmp %[compared], %[other]; cmpxchg16b %[pair]; pushfq; pop %[flags]"
        : [flags] "=r"(flags), "+a"(low), "+d"(high), [pair] "+m"(pair)
        : "b"(uint64_t{5}), "c"(uint64_t{6}), [compared] "r"(compared), [other] "r"(uint64_t{7})
        : "cc", "memory");
    return flags;
}

}  // namespace

int main() {
    uint32_t a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_CMPXCHG16B)) {
        std::puts("this CPU has no cmpxchg16b");
        return 0;
    }
    const uint64_t flags = flags_after(0x4000'0000);
    std::printf("flags after cmpxchg16b: %#jx\n", static_cast<uintmax_t>(flags));
    return flags & ~kDefined ? 1 : 0;
}
