// SPDX-License-Identifier: GPL-2.0
#include "exits.h"

#include "../arch/x86/scan.h"
#include "function.h"

namespace djprobe::kmod {

using x86::Insn;
using x86::Kind;

Exits::Exits(Range own, const djk_machine& machine)
    : own_(own),
      return_thunks_{machine.return_thunks.begin, machine.return_thunks.end},
      indirect_thunks_{machine.indirect_thunks.begin, machine.indirect_thunks.end} {}

Exits::Exit Exits::leave(u64 target) {
    u64 start = 0, size = 0;
    if (djk_symbol_range(target, &start, &size)) {
        if (part_ && start == part_) return Exit::Part;
        // Only a part of this function is entered elsewhere than at its start.
        if (djk_is_compiled(start)) {
            if (start == target) return Exit::TailCall;
        } else if (!part_ && djk_is_part(start)) {
            part_ = start;
            return Exit::Part;
        }
    }
    known_ = false;
    return Exit::Unknown;
}

Exits::Exit Exits::classify(const Insn& insn) {
    switch (insn.kind) {
        case Kind::Return:
            return Exit::Return;
        case Kind::IndirectJump:
            return Exit::TailCall;
        case Kind::Jump:
        case Kind::CondJump:
            if (own_.contains(insn.target)) return Exit::None;
            if (indirect_thunks_.contains(insn.target)) return Exit::TailCall;
            if (return_thunks_.contains(insn.target))
                return insn.kind == Kind::Jump ? Exit::Return : Exit::TailCall;
            return leave(insn.target);
        default:
            return Exit::None;
    }
}

namespace {

class ReturnFinder {
  public:
    ReturnFinder(const djk_machine& machine, const SiteTable& sites, Array<u64>& returns)
        : machine_(machine), sites_(sites), returns_(returns) {}

    size_t count() const { return count_; }

    Refusal visit(u64 symbol, u64 comes_from, u64& part) {
        FunctionCopy copy;
        if (!copy.load(symbol)) return Refusal{Reason::UNSCANNABLE, symbol};
        copy.recover_own(sites_);
        const Range own = copy.code().range();
        Exits exits(own, machine_);
        Refusal refusal;
        const u64 end = x86::real_end(copy.code());
        const Refusal scan = x86::for_each_insn(copy.code(), end, [&](const Insn& insn) {
            // From the part elsewhere control comes back.
            if (comes_from && insn.rel_size && home_.contains(insn.target)) return true;
            Exits::Exit exit = exits.classify(insn);
            // A part of a part is nobody's here.
            if (comes_from && exit == Exits::Exit::Part) exit = Exits::Exit::Unknown;
            refusal = note(insn, exit);
            return !refusal;
        });
        if (!comes_from) home_ = own;
        part = exits.part();
        return refusal ? refusal : scan;
    }

  private:
    static bool is_static_call(u64 address) {
        u8 reason = 1;
        djk_reserved(address, &reason, 1);
        return static_cast<Reason>(reason) == Reason::STATIC_CALL;
    }

    Refusal note(const Insn& insn, Exits::Exit exit) {
        switch (exit) {
            case Exits::Exit::None:
            case Exits::Exit::Part:
                return {};
            case Exits::Exit::Return:
                // One that leads nowhere as yet; the kernel will make it a jump.
                if (is_static_call(insn.address)) break;
                if (count_ == returns_.size()) return Refusal{Reason::NO_MEMORY};
                returns_[count_++] = insn.address;
                return {};
            case Exits::Exit::TailCall:
            case Exits::Exit::Unknown:
                break;
        }
        return Refusal{Reason::TAIL_CALL, insn.address, insn.target};
    }

    const djk_machine& machine_;
    const SiteTable& sites_;
    Array<u64>& returns_;
    size_t count_ = 0;
    Range home_{};
};

}  // namespace

Refusal find_returns(u64 function, const djk_machine& machine, const SiteTable& sites,
                     Array<u64>& returns, size_t& count) {
    // Functions that a compiler has not made may leave in ways of their own.
    if (!djk_is_compiled(function)) return Refusal{Reason::NO_FUNCTION, function};
    u64 size = 0, start = 0;
    if (!djk_symbol_range(function, &start, &size)) return Refusal{Reason::NOT_TEXT};
    // No more returns than bytes; the rest of the function is a bound for its part as well.
    returns = Array<u64>(size);
    if (!returns) return Refusal{Reason::NO_MEMORY};
    ReturnFinder finder(machine, sites, returns);
    u64 part = 0, none = 0;
    if (const Refusal refusal = finder.visit(function, 0, part)) return refusal;
    if (part)
        if (const Refusal refusal = finder.visit(part, function, none)) return refusal;
    count = finder.count();
    return count ? Refusal{} : Refusal{Reason::NO_RETURN, function};
}

}  // namespace djprobe::kmod
