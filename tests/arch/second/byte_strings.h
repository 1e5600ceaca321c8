// SPDX-License-Identifier: GPL-2.0
// Random byte strings that are often instructions: what noise alone would hardly reach.
#pragma once

#include <random>

#include "arch/x86/insn/decode.h"

namespace djprobe::test {

class ByteStrings {
  public:
    static constexpr size_t kLength = x86::kMaxInsnLength + 1;

    explicit ByteStrings(u64 seed) : random_(seed) {}

    /// The next one: noise, or prefixes, an opcode of some map, operands.
    void next(u8 (&out)[kLength]);

  private:
    bool one_in(unsigned n) { return random_() % n == 0; }

    std::mt19937_64 random_;
};

}  // namespace djprobe::test
