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
    /// Before the first read(): room for so many instructions. Of larger functions the rest is
    /// decoded when it is asked for. False: out of memory.
    [[nodiscard]] bool allocate(size_t insns);

    /// Read the function that holds `address` as it is now, without any probes. NO_MEMORY; NOT_TEXT
    /// when FunctionCopy::load() cannot copy it. The function read before stays on a refusal.
    Refusal read(u64 address, const OwnText& ours);
    Refusal read(u64 address, const OwnText& ours, const KernelText& text);
    /// read() has found the function that was there before.
    bool is_again() const { return again_; }
    /// Decode all of it, for several sites.
    void decode();
    /// Whether read() would find this function again.
    bool is_still_at(u64 address, const OwnText& ours, const KernelText& text);

    /// Good until the next read().
    const Code& code() const { return code_; }
    /// Other text may come to lie there, in which the same bytes mean something else.
    void forget() {
        code_ = {};
        memo_ = {};
        leaving_ = {};
    }
    /// What was found out about these bytes, and the text around them.
    x86::FunctionMemo& memo() { return memo_; }

    /// How control leaves it, see add_cold_part() in live_at.cc.
    struct Leaving {
        bool known = false;
        bool whole = false;  ///< it leaves for no other part than these
        u64 home = 0;        ///< whose part this is; 0: none's
        u64 part = 0;        ///< its part elsewhere; 0: it has none
    };
    Leaving& leaving() { return leaving_; }

  private:
    Refusal take(bool loaded, const OwnText& ours);

    FunctionCopy copies_[2];  ///< one is code_'s, the other the next one's
    bool second_ = false;     ///< code_ is the second one's
    Code code_;
    Array<x86::Insn> decoded_;
    x86::KnownInsns known_;  ///< code_'s, in decoded_
    Array<u64> targets_;     ///< where its branches lead, see x86::FunctionMemo
    x86::FunctionMemo memo_;
    Leaving leaving_;
    bool again_ = false;
};

/// The functions in which instructions lead to a site, or look so: its own, and others.
struct SourceFunctions {
    DecodedFunction& own;
    DecodedFunction& other;

    /// The one that holds `address`, as read() says.
    Refusal read(u64 address, const OwnText& ours, const KernelText& text, Code& function) {
        const bool is_own = own.is_still_at(address, ours, text);
        const Refusal refusal = is_own ? Refusal{} : other.read(address, ours, text);
        function = is_own ? own.code() : other.code();
        return refusal;
    }
};

}  // namespace djprobe::kmod
