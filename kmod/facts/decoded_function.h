// SPDX-License-Identifier: GPL-2.0
// A function's original bytes and its instructions, decoded once as long as they stay the same.
#pragma once

#include "../../arch/x86/analysis/snapshot.h"
#include "function_copy.h"

namespace djprobe::kmod {

/// The function that was read last. Several sites of one function, and the search for its returns,
/// share the decoding. Under the registry lock.
class DecodedFunction {
  public:
    /// Before the first read(). False: out of memory.
    [[nodiscard]] bool allocate();

    /// Read the function that holds `address` as it is now, without any probes. NO_MEMORY; NOT_TEXT
    /// when FunctionCopy::load() cannot copy it. The function read before stays on a refusal.
    Refusal read(u64 address, const OwnText& ours);

    /// Decode it now: it will be walked through several times.
    void decode();

    /// Good until the next read().
    const Code& code() const { return code_; }
    /// Other text may come to lie there, in which the same bytes mean something else.
    void forget() {
        code_ = {};
        memo_ = {};
    }
    /// What was found out about these bytes, and the text around them.
    x86::FunctionMemo& memo() { return memo_; }

  private:
    FunctionCopy copies_[2];  ///< one is code_'s, the other the next one's
    bool second_ = false;     ///< code_ is the second one's
    Code code_;
    Array<x86::Insn> decoded_;  ///< its first instructions
    Array<u64> targets_;        ///< where its branches lead, see x86::FunctionMemo
    x86::FunctionMemo memo_;
};

}  // namespace djprobe::kmod
