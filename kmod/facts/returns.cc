// SPDX-License-Identifier: GPL-2.0
#include "returns.h"

#include "function_copy.h"

namespace djprobe::kmod {
namespace {

using x86::Insn;

class ReturnFinder {
  public:
    ReturnFinder(const djk_machine& machine, const OwnText& ours, Array<u64>& returns)
        : exits_(machine), ours_(ours), returns_(returns) {}

    size_t count() const { return count_; }
    u64 part() const { return exits_.part(); }

    /// Its part elsewhere.
    Refusal visit(u64 symbol) {
        FunctionCopy copy;
        if (!copy.load(symbol))
            return Refusal{copy.out_of_memory() ? Reason::NO_MEMORY : Reason::UNSCANNABLE, symbol};
        copy.recover_own(ours_);
        return visit(copy.code());
    }

    /// Walk through the function, or its part.
    Refusal visit(const Code& code) {
        Refusal refusal;
        const Refusal scan = exits_.walk(code, [&](const Insn& insn, Exit exit) {
            refusal = note(insn, exit);
            return !refusal;
        });
        return refusal ? refusal : scan;
    }

  private:
    static bool is_static_call(u64 address) {
        u8 reason = 1;
        djk_reserved(address, &reason, 1);
        return static_cast<Reason>(reason) == Reason::STATIC_CALL;
    }

    Refusal note(const Insn& insn, Exit exit) {
        switch (exit) {
            case Exit::None:
                return {};
            case Exit::Part:
                if (exits_.in_part()) break;
                return {};
            case Exit::Return:
                // A static call that leads nowhere as yet: the kernel may make it a jump.
                if (is_static_call(insn.address)) break;
                if (count_ == returns_.size()) return Refusal{Reason::NO_MEMORY};
                returns_[count_++] = insn.address;
                return {};
            case Exit::TailCall:
            case Exit::Unknown:
                break;
        }
        return Refusal{Reason::TAIL_CALL, insn.address, insn.target};
    }

    KernelExits exits_;
    const OwnText& ours_;
    Array<u64>& returns_;
    size_t count_ = 0;
};

}  // namespace

Refusal find_returns(u64 function, const djk_machine& machine, const OwnText& ours,
                     DecodedFunction& decoded, Array<u64>& returns, size_t& count) {
    // A function that no compiler has made may leave in ways of its own.
    if (!djk_is_compiled(function)) return Refusal{Reason::NO_FUNCTION, function};
    u64 size = 0, start = 0;
    if (!djk_symbol_range(function, &start, &size)) return Refusal{Reason::NOT_TEXT};
    // There are no more returns than bytes. That bounds those of its part elsewhere as well:
    // NO_MEMORY is the answer beyond it.
    returns = Array<u64>(size);
    if (!returns) return Refusal{Reason::NO_MEMORY};
    ReturnFinder finder(machine, ours, returns);
    if (const Refusal refusal = decoded.read(function, ours))
        return refusal.reason == Reason::NO_MEMORY ? refusal
                                                   : Refusal{Reason::UNSCANNABLE, function};
    if (const Refusal refusal = finder.visit(decoded.code())) return refusal;
    if (finder.part())
        if (const Refusal refusal = finder.visit(finder.part())) return refusal;
    count = finder.count();
    return count ? Refusal{} : Refusal{Reason::NO_RETURN, function};
}

}  // namespace djprobe::kmod
