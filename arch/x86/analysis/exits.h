// SPDX-License-Identifier: GPL-2.0
// Where a function ends: its returns, its tail calls, and the part of it that lies elsewhere.
#pragma once

#include "../insn/scan.h"

namespace djprobe::x86 {

/// How control leaves a function by an instruction, calls aside.
enum class Exit : u8 {
    None,
    Return,
    TailCall,
    Part,  ///< to the part of it that lies elsewhere (NAME.cold)
    Unknown,
};

/// Walks through a function, then through its part elsewhere. What it asks of others:
/// Symbols::start_of(address, u64&) -> bool: where the symbol begins that holds the address.
/// Symbols::is_compiled(start) -> bool: the compiler has made it, with an ftrace call at its entry.
/// Symbols::is_part(start) -> bool: a part of some function; asked of what is not compiled.
template <class Symbols>
class Exits {
  public:
    /// Out-of-line `ret` and `jmp *reg`.
    /// `walked`: the function of whose walk an earlier object knows the outcome.
    Exits(const Symbols& symbols, Range return_thunks, Range indirect_thunks, Range walked = {})
        : symbols_(symbols),
          return_thunks_(return_thunks),
          indirect_thunks_(indirect_thunks),
          own_(walked) {}

    /// Calls visit(insn, exit) -> bool (false: enough) for each instruction of the function, or,
    /// the next time, of part(). A part of the part is a Part as well, but this walk ignores it.
    /// UNSCANNABLE when an instruction cannot be decoded.
    template <class Visit>
    Refusal walk(const Code& code, Visit&& visit) {
        home_ = own_;
        own_ = code.range();
        part_ = 0;
        return for_each_insn(code, own_.end,
                             [&](const Insn& insn) { return visit(insn, classify(insn)); });
    }

    bool in_part() const { return home_.size() != 0; }
    /// The part that the last walk has led to, 0: none.
    u64 part() const { return part_; }

  private:
    // Always inline: the kernel's build has no room for a function that several objects hold.
    [[gnu::always_inline]] Exit classify(const Insn& insn) {
        switch (insn.kind) {
            case Kind::Return:
                return Exit::Return;
            case Kind::IndirectJump:
                return Exit::TailCall;
            case Kind::Jump:
            case Kind::CondJump:
                // From the part elsewhere control comes back.
                if (own_.contains(insn.target) || home_.contains(insn.target)) return Exit::None;
                if (indirect_thunks_.contains(insn.target)) return Exit::TailCall;
                if (return_thunks_.contains(insn.target))
                    return insn.kind == Kind::Jump ? Exit::Return : Exit::TailCall;
                return leave(insn.target);
            default:
                return Exit::None;
        }
    }

    [[gnu::always_inline]] Exit leave(u64 target) {
        u64 start;
        if (!symbols_.start_of(target, start)) return Exit::Unknown;
        if (part_ && start == part_) return Exit::Part;
        // Only a part of this function is entered elsewhere than at its start.
        if (symbols_.is_compiled(start)) return start == target ? Exit::TailCall : Exit::Unknown;
        if (part_ || !symbols_.is_part(start)) return Exit::Unknown;
        part_ = start;
        return Exit::Part;
    }

    Symbols symbols_;
    Range return_thunks_, indirect_thunks_;
    Range own_, home_;
    u64 part_ = 0;
};

}  // namespace djprobe::x86
