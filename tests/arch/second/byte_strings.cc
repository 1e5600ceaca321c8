// SPDX-License-Identifier: GPL-2.0
#include "second/byte_strings.h"

#include <cstring>

namespace djprobe::test {

void ByteStrings::next(u8 (&out)[kLength]) {
    // Noise first: it stays where nothing else is written, as ModRM, SIB and constants.
    const u64 noise[2] = {random_(), random_()};
    static_assert(sizeof(noise) == kLength);
    std::memcpy(out, noise, kLength);
    if (one_in(8)) return;

    size_t at = 0;
    const auto put = [&](unsigned byte) { out[at++] = static_cast<u8>(byte); };
    static constexpr u8 kLegacy[] = {0x66, 0x66, 0xf2, 0xf3, 0xf0, 0x67,
                                     0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65};
    if (one_in(2)) do
            put(kLegacy[random_() % sizeof(kLegacy)]);
        while (at < 4 && one_in(3));
    if (one_in(3)) put(0x40 | random_() % 16);
    switch (random_() % 16) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
            break;  // the one-byte map
        case 5:
        case 6:
        case 7:
        case 8:
            put(0x0f);
            break;
        case 9:
            put(0x0f);
            put(0x38);
            break;
        case 10:
            put(0x0f);
            put(0x3a);
            break;
        case 11:
            put(0xc5);
            put(random_());
            break;
        case 12:
            put(0xc4);
            put(random_() << 5 | (1 + random_() % 3));
            put(random_());
            break;
        case 13:
            put(0x62);
            put((random_() & 0xf0) | (1 + random_() % 3));
            put(random_() | 4);
            put(random_());
            break;
        case 14: {
            // Branches, and what looks like them.
            static constexpr u8 kFlow[] = {0xe8, 0xe9, 0xeb, 0xe0, 0xe1, 0xe2, 0xe3, 0xc2, 0xc3,
                                           0xcc, 0xcd, 0xf4, 0x9a, 0xca, 0xcb, 0xcf, 0x8e, 0xfb};
            put(kFlow[random_() % sizeof(kFlow)]);
            break;
        }
        case 15:
            put(0xff);  // group 5: indirect calls and jumps
            break;
    }
    // Operands relative to rip, and to rsp, more often than by chance.
    if (one_in(4) && at + 1 < kLength) out[at + 1] = static_cast<u8>((out[at + 1] & 0x38) | 5);
}

}  // namespace djprobe::test
