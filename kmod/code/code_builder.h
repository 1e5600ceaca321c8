// SPDX-License-Identifier: GPL-2.0
// From a plan to code that can run: the slot, its content, the bytes of the text that lead there.
#pragma once

#include "code_writer.h"
#include "direct_calls.h"
#include "site_code.h"

namespace djprobe::kmod {

/// What the code is made from.
struct CodeRequest {
    const x86::Plan& plan;
    const x86::Live& live;  ///< at the IA, if the plan may jump
    const djk_site& site;   ///< what the code hands to djk_machine.hit_handler
};

/// Owns the executable memory, what is on its way there, and what is known of programs that detours
/// call themselves. Under the registry lock. Writes no text that the kernel runs.
class CodeBuilder {
  public:
    /// `machine` is read when code is built.
    explicit CodeBuilder(const djk_machine& machine) : machine_(machine) {}

    /// Make the code that `code.shape` asks for. It is in its slot after flush(), and the cores do
    /// not know of it then. Refusals: the emitters', NO_MEMORY.
    Refusal build(const CodeRequest& request, SiteCode& code);
    /// All code that has been built is in its slots now. Takes the text lock.
    void flush() { writer_.flush(); }

    /// Whether a detour may call this handler's program itself.
    bool calls_directly(const djk_handler* handler);
    /// Spare a program what it does not need even where it is called the general way.
    void prepare(djk_handler* handler) { calls_.prepare(machine_, handler); }
    /// Programs may have been freed since the registry lock was taken last.
    void forget_programs() { calls_.forget(); }

  private:
    Refusal emit(const CodeRequest& request, const Shape& shape, u64 address, Span<u8> out,
                 x86::DetourLayout& layout);

    const djk_machine& machine_;
    SlotPool slots_;
    CodeWriter writer_;
    DirectCalls calls_;
};

}  // namespace djprobe::kmod
