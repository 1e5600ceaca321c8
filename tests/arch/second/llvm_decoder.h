// SPDX-License-Identifier: GPL-2.0
// LLVM's x86 disassembler, reduced to what can be compared with decode().
#pragma once

#include <memory>
#include <string>

#include "arch/x86/insn/types.h"

namespace djprobe::test {

/// What a second decoder says of an instruction.
struct Other {
    enum class Flow {
        Falls,  ///< continues with its successor, as far as LLVM's tables tell
        Jump,
        CondJump,
        CounterJump,
        Call,
        IndirectJump,
        IndirectCall,
        Return,
        Far,  ///< far branches, iret, sysret
        Int3,
        Trap,
        Endbr,
        Transaction,
        System,  ///< hlt, mwait, syscall, VM entries, ...
        Shadow,  ///< sti, mov ss
    };
    bool valid = false;
    u8 length = 0;
    Flow flow = Flow::Falls;
    bool direct = false;  ///< has a `target`
    u64 target = 0;
    bool rip_relative = false;  ///< an operand is relative to rip or eip, at `displacement`
    bool eip = false;
    i64 displacement = 0;
    bool on_stack = false;  ///< an operand is rsp or based on rsp
    std::string name;       ///< LLVM's name of the instruction
};

class LlvmDecoder {
  public:
    /// Throws std::runtime_error when LLVM was built without x86.
    LlvmDecoder();
    ~LlvmDecoder();
    LlvmDecoder(const LlvmDecoder&) = delete;

    /// The instruction at `address`, whose bytes begin at bytes[0].
    void decode(Span<const u8> bytes, u64 address, Other& out) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace djprobe::test
