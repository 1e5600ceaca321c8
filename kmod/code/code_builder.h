// SPDX-License-Identifier: GPL-2.0
// From a plan to code that can run: the slot, its content, the bytes of the text that lead there.
#pragma once

#include "actions_of.h"
#include "code_writer.h"
#include "direct_calls.h"
#include "site_code.h"

namespace djprobe::kmod {

/// What a site's code is made from.
struct CodeRequest {
    const x86::Plan& plan;
    const x86::Live& live;  ///< at the IA, if the plan may jump
    const djk_site& site;   ///< what the code hands to djk_machine.hit_handler
};

/// Owns the executable memory, the code on its way there, and what is known about programs that
/// detours call themselves. Under the registry lock. Writes no text that the kernel runs.
class CodeBuilder {
  public:
    /// `machine` may be filled later: it is read when code is built.
    explicit CodeBuilder(const djk_machine& machine) : machine_(machine) {}

    /// Make the code that `code.shape` asks for, in a slot that `code` owns. The code is there
    /// after flush(); CPUs may run it after a core sync that follows. May sleep. Refusals: the
    /// emitters', NO_MEMORY.
    Refusal build(const CodeRequest& request, SiteCode& code);
    /// Write all code that has been built into its slots. Takes the text lock.
    void flush() { writer_.flush(); }

    /// Whether a detour may do itself what these up to kMostHeld handlers do, in this order: count,
    /// and call the program of the last one.
    bool may_hold(Span<const djk_handler* const> handlers);
    /// Whether there are conditions in front of what it runs.
    static bool has_front(const djk_handler* handler) {
        return !handler->counter && !actions_of(handler).empty();
    }
    /// What a handler reads of the registers.
    Reads reads_of(const djk_handler* handler);
    /// Note whether a program can run without a run context: that spares hits which call it through
    /// the general handler. Before the handler is linked to a site.
    void prepare(djk_handler* handler) { calls_.prepare(machine_, handler); }
    /// Call this after the registry lock was free: programs may have been freed since, and others
    /// may lie at their addresses.
    void forget_programs() { calls_.forget(); }

  private:
    x86::CountConfig count_of(const djk_handler* handler) const;
    x86::FrontConfig front_of(const djk_handler* handler) const;
    Refusal emit_held(const CodeRequest& request, const Shape& shape, u64 address, Span<u8> out,
                      x86::DetourLayout& layout);
    Refusal emit(const CodeRequest& request, const Shape& shape, u64 address, Span<u8> out,
                 x86::DetourLayout& layout);

    const djk_machine& machine_;
    SlotPool slots_;
    CodeWriter writer_;
    DirectCalls calls_;
};

}  // namespace djprobe::kmod
