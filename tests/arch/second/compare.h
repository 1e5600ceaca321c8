// SPDX-License-Identifier: GPL-2.0
// Two decoders' answers, compared; and why some of them may differ.
#pragma once

#include <map>

#include "arch/x86/insn/decode.h"
#include "second/llvm_decoder.h"

namespace djprobe::test {

class Comparison {
  public:
    /// Decodes by both. Returns our length, 1 where there is none.
    size_t add(Span<const u8> bytes, u64 address);

    /// Prints the totals and the first unexplained disagreements; false if there are any.
    bool report() const;

  private:
    void differ(const char* what, Span<const u8> bytes, const x86::Insn* mine, const Other& other);

    u64 compared_ = 0, instructions_ = 0, neither_ = 0;
    u64 unexplained_ = 0;
    std::map<const char*, u64> explained_;
    std::map<std::string, u64> shown_;  ///< unexplained ones by kind
};

}  // namespace djprobe::test
