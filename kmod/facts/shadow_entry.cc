// SPDX-License-Identifier: GPL-2.0
#include "shadow_entry.h"

#include "../../arch/x86/insn/scan.h"
#include "returns.h"

namespace djprobe::kmod {
namespace {

using x86::Insn;
using x86::Kind;

constexpr u64 kFtraceCall = 5;

/// Before the site there must be only landing pads, nops and the call of ftrace, which a tracer may
/// have put there and which comes back with the stack as it was: else the stack pointer need not
/// point to the return address.
Refusal check_depth(const Code& code, const ShadowEntry& entry) {
    u64 at = code.address;
    const Refusal scan = x86::for_each_insn(code, entry.site, [&](const Insn& insn) {
        const bool ftrace = insn.address == entry.site - kFtraceCall && insn.kind == Kind::Call;
        if (insn.kind != Kind::Nop && insn.kind != Kind::Endbr && !ftrace) return false;
        at = insn.end();
        return true;
    });
    return scan || at != entry.site ? Refusal{Reason::NO_FUNCTION, code.address} : Refusal{};
}

class Leaving {
  public:
    Leaving(const ShadowEntry& entry, const djk_machine& machine, const OwnText& ours)
        : entry_(entry), exits_(machine), ours_(ours) {}

    /// Walk through the function, or its part elsewhere.
    Refusal visit(u64 symbol) {
        if (!copy_.load(symbol))
            return Refusal{copy_.out_of_memory() ? Reason::NO_MEMORY : Reason::UNSCANNABLE, symbol};
        copy_.recover_own(ours_);
        const Code code = copy_.code();
        if (symbol == entry_.function)
            if (const Refusal refusal = check_depth(code, entry_)) return refusal;
        Refusal again;
        const Refusal scan = exits_.walk(code, [&](const Insn& insn, Exit exit) {
            // The index does not know short branches.
            if (insn.rel_size && insn.target == entry_.site)
                again = Refusal{Reason::ENTRY_AGAIN, insn.address, entry_.site};
            leaves_ |= exit != Exit::None && exit != Exit::Part;
            return !again;
        });
        return again ? again : scan;
    }
    u64 part() const { return exits_.part(); }
    bool leaves() const { return leaves_; }

  private:
    const ShadowEntry& entry_;
    KernelExits exits_;
    const OwnText& ours_;
    FunctionCopy copy_;
    bool leaves_ = false;
};

}  // namespace

Refusal check_shadow_entry(const ShadowEntry& entry, Analyst& analyst, const OwnText& ours) {
    if (const unsigned int reason = djk_forbidden(entry.site))
        return Refusal{static_cast<Reason>(reason)};
    if (const unsigned int reason = djk_unshadowable(entry.function))
        return Refusal{static_cast<Reason>(reason), entry.function};
    if (!djk_is_compiled(entry.function)) return Refusal{Reason::NO_FUNCTION, entry.function};
    Leaving leaving(entry, analyst.machine(), ours);
    if (const Refusal refusal = leaving.visit(entry.function)) return refusal;
    if (leaving.part())
        if (const Refusal refusal = leaving.visit(leaving.part())) return refusal;
    // A function that never returns would keep an instance until its task ends.
    if (!leaving.leaves()) return Refusal{Reason::NO_RETURN, entry.function};
    return analyst.check_no_landing(entry.site, ours);
}

}  // namespace djprobe::kmod
