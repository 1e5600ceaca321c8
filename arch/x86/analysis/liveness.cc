// SPDX-License-Identifier: GPL-2.0
#include "liveness.h"

#include "../insn/scan.h"

namespace djprobe::x86 {
namespace {

/// Registers and flags in one set: the flags from bit 16 on.
using Set = u32;
constexpr Set kRegisterPart = kCallerSaved;
constexpr Set kFlagPart = static_cast<Set>(kStatusFlags) << 16;
constexpr Set kAll = kRegisterPart | kFlagPart;

constexpr size_t kMaxBlocks = 64;
constexpr size_t kMaxInsns = 1024;

constexpr Set join(RegisterSet registers, u16 flags) {
    return (registers & kRegisterPart) | static_cast<Set>(flags) << 16;
}

/// What happens to the sets where a path ends.
struct End {
    Set live;  ///< what may be read there; the rest is dead
};
constexpr End kUnknown{kAll};
// A callee may take six arguments, a static chain (r10) and the number of vector registers (rax),
// and a thunk its operand in any register. It takes no flags. It ends the path although control
// returns: a thunk called by inline assembly keeps registers, so that all are needed behind it.
constexpr End kCallee{kRegisterPart};
// The registers of C's arguments. Inline assembly that calls such a function must count with the
// loss of all others.
constexpr End kCompiledCallee{join(register_bit(kRdi) | register_bit(kRsi) | register_bit(kRdx) |
                                       register_bit(kRcx) | register_bit(8) | register_bit(9) |
                                       register_bit(kRax),
                                   0)};
constexpr End kReturn{join(register_bit(kRax) | register_bit(kRdx), 0)};

class Exploration {
  public:
    explicit Exploration(const Flow& flow) : flow_(flow) {}

    Set run(u64 from, Set asked) {
        arrive(from, asked);
        for (size_t i = 0; i < count_ && (asked & ~live_);) {
            const Set open = blocks_[i].open & ~live_;
            blocks_[i].open = 0;
            if (!open) {
                ++i;
                continue;
            }
            walk(blocks_[i].address, open);
            // A loop may have opened an earlier block again.
            i = 0;
        }
        return live_;
    }

  private:
    /// A place where control may arrive: what was asked there so far, and what still is to be.
    struct Block {
        u64 address;
        Set asked;
        Set open;
    };

    Block* find(u64 address) {
        for (size_t i = 0; i < count_; ++i)
            if (blocks_[i].address == address) return &blocks_[i];
        return nullptr;
    }

    void arrive(u64 address, Set open) {
        Block* block = find(address);
        if (!block) {
            if (count_ == kMaxBlocks) return end(kUnknown, open);
            block = &blocks_[count_++];
            *block = {address, 0, 0};
        }
        block->open |= open & ~block->asked;
        block->asked |= open;
    }

    void end(End how, Set open) { live_ |= how.live & open; }

    const Code& code_at(u64 address) const {
        return flow_.function.range().contains(address) ? flow_.function : flow_.cold;
    }

    bool is_inside(u64 address) const {
        return flow_.function.range().contains(address) || flow_.cold.range().contains(address);
    }

    const Rewritten* rewritten_at(u64 address) const {
        for (const Rewritten& insn : flow_.rewritten)
            if (insn.address == address) return &insn;
        return nullptr;
    }

    End callee(u64 target, Set open) const {
        // A call into the function itself: assembly that wants its own address, or fills the return
        // stack.
        if (is_inside(target)) return kUnknown;
        // Where both say the same of what is still open, the question can be spared.
        const bool matters = (kCallee.live ^ kCompiledCallee.live) & open;
        return matters && flow_.is_compiled && flow_.is_compiled(target) ? kCompiledCallee
                                                                         : kCallee;
    }

    void jump(u64 target, Set open, bool conditional) {
        if (is_inside(target)) return arrive(target, open);
        if (flow_.return_thunks.contains(target)) return end(kReturn, open);
        // Compilers make no conditional tail calls: that is a part of the function, not known here.
        const bool tail_call = flow_.indirect_thunks.contains(target) || flow_.whole;
        end(tail_call && !conditional ? kCallee : kUnknown, open);
    }

    /// Follow the instructions from a block's start on with what is still undecided.
    void walk(u64 address, Set open) {
        for (bool first = true; open; first = false) {
            // Another walk has been here or will come.
            if (!first && find(address)) return arrive(address, open);
            if (insns_++ == kMaxInsns) return end(kUnknown, open);
            const Code& code = code_at(address);
            Insn insn;
            if (!insn_at(code, address, insn)) return end(kUnknown, open);
            if (!step(insn, code.from(address), open)) return;
            address = insn.end();
            open &= ~live_;
        }
    }

    /// One instruction's part; false when the path ends with it.
    bool step(const Insn& insn, Span<const u8> bytes, Set& open) {
        if (const Rewritten* const rewritten = rewritten_at(insn.address)) {
            if (rewritten->kind == Rewritten::Kind::Label) {
                jump(rewritten->target, open, true);
                return true;
            }
            // A conditional tail call may also fall through, with flags that the code behind it
            // reads.
            const bool calls =
                rewritten->kind == Rewritten::Kind::Call && insn.kind != Kind::CondJump;
            end(calls ? kCallee : kUnknown, open);
            return false;
        }
        switch (insn.kind) {
            case Kind::Call:
                end(callee(insn.target, open), open);
                return false;
            case Kind::IndirectCall:
                end(kCallee, open);
                return false;
            case Kind::Return:
                end(kReturn, open);
                return false;
            case Kind::Jump:
                jump(insn.target, open, false);
                return false;
            case Kind::Trap:
                // A WARN resumes behind it with all registers; behind a BUG whatever stands there
                // may only keep more alive.
                if (bytes[0] == 0x0f && bytes[1] == 0x0b) return true;
                end(kUnknown, open);
                return false;
            case Kind::IndirectJump:
            case Kind::Int3:
            case Kind::SystemFlow:
            case Kind::Transaction:
                end(kUnknown, open);
                return false;
            default:
                break;
        }
        const Effects effects =
            flow_.effects ? flow_.effects->find(insn, bytes) : find_effects(insn, bytes);
        live_ |= join(effects.reads, effects.flags_read) & open;
        open &= ~join(effects.kills, effects.flags_killed);
        if (insn.kind == Kind::CondJump || insn.kind == Kind::CounterJump)
            jump(insn.target, open, true);
        return true;
    }

    const Flow& flow_;
    Set live_ = 0;
    size_t count_ = 0;
    size_t insns_ = 0;
    Block blocks_[kMaxBlocks];
};

/// By an instruction's last byte, so that few need a closer look: popf, cld, std, stac, clac.
constexpr bool may_change_system_flags(u8 last) {
    return last == 0x9d || last == 0xfc || last == 0xfd || last == 0xca || last == 0xcb;
}

/// Whether the code may change AC or DF, or cannot be decoded.
bool look_for_system_flags(const Code& code) {
    bool changes = false;
    const Refusal scan = for_each_insn(code, code.range().end, [&](const Insn& insn) {
        const Span<const u8> bytes = code.from(insn.address);
        if (may_change_system_flags(bytes[insn.length - 1u]))
            changes = find_effects(insn, bytes).system_flags;
        return !changes;
    });
    return scan || changes;
}

bool changes_system_flags(const Code& code, FunctionMemo* memo) {
    if (!memo) return look_for_system_flags(code);
    if (!memo->knows_system_flags) memo->changes_system_flags = look_for_system_flags(code);
    memo->knows_system_flags = true;
    return memo->changes_system_flags;
}

}  // namespace

Live merge(const Live& one, const Live& other) {
    return {static_cast<RegisterSet>(one.registers | other.registers), one.flags || other.flags,
            one.system_flags || other.system_flags};
}

Live find_live(const Flow& flow, u64 from, const Asked& asked) {
    Live live;
    if (!flow.standard_abi || flow.has_fixups) return live;
    const Set set = Exploration(flow).run(from, join(asked.registers, kStatusFlags));
    live.registers = static_cast<RegisterSet>((set | ~Set{asked.registers}) & kRegisterPart);
    live.flags = (set & kFlagPart) != 0;
    live.system_flags = !asked.system_flags || changes_system_flags(flow.function, flow.memo) ||
                        changes_system_flags(flow.cold, flow.cold_memo);
    return live;
}

}  // namespace djprobe::x86
