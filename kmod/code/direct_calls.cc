// SPDX-License-Identifier: GPL-2.0
#include "direct_calls.h"

#include "../../arch/x86/analysis/context_use.h"
#include "../../arch/x86/insn/program.h"

namespace djprobe::kmod {
namespace {

/// What tells a program where it runs.
constexpr x86::FieldSet kPlace = x86::field_bit(__builtin_offsetof(x86::Frame, ip)) |
                                 x86::field_bit(__builtin_offsetof(x86::Frame, sp));

}  // namespace

DirectCalls::Facts DirectCalls::analyse(const djk_machine& machine, const djk_program& program) {
    Facts facts;
    const Array<x86::ContextState> state(program.insn_count);
    if (!state) return facts;
    const Span<const x86::BpfInsn> insns = {static_cast<const x86::BpfInsn*>(program.insns),
                                            program.insn_count};
    const x86::ContextUse use = x86::find_context_use(insns, state.all(), djk_needs_run_context);
    facts.context = use.fields;
    const auto* code = reinterpret_cast<const u8*>(program.code);
    // A tracer of the program may write a call at its start, which would clobber more.
    facts.body = x86::find_body({program.code, {code, program.code_size}});
    // The body begins behind the place of that call. Where the call is in the text already, or is
    // being written, all hits must go through it.
    facts.direct = !use.needs_run_context && facts.body != program.code;
    const u64 end = program.code + program.code_size;
    facts.clobbers =
        x86::find_clobbers({facts.body, {code + (facts.body - program.code), end - facts.body}},
                           {machine.return_thunks.begin, machine.return_thunks.end});
    return facts;
}

const DirectCalls::Facts& DirectCalls::find(const djk_machine& machine,
                                            const djk_program& program) {
    if (known_ != program.insns) facts_ = analyse(machine, program);
    known_ = program.insns;
    return facts_;
}

x86::FieldSet DirectCalls::context_of(const djk_machine& machine, const djk_handler* handler) {
    djk_program program;
    return djk_handler_program(handler, &program) ? find(machine, program).context
                                                  : x86::kAllFields;
}

void DirectCalls::prepare(const djk_machine& machine, djk_handler* handler) {
    djk_program program;
    if (!djk_handler_program(handler, &program)) return;
    const Facts& facts = find(machine, program);
    if (!(facts.context & kPlace)) djk_handler_show_own(handler);
    if (facts.direct) djk_handler_set_plain(handler);
}

bool DirectCalls::describe(const djk_machine& machine, const djk_handler* handler,
                           x86::DirectConfig& out) {
    djk_program program{};
    if (!machine.active) return false;
    const bool shadow = djk_handler_enters_shadow(handler);
    if (!shadow && djk_handler_is_shadow(handler)) return false;
    if (!shadow && (djk_handler_shows_other(handler) || !djk_handler_program(handler, &program) ||
                    !find(machine, program).direct))
        return false;
    out = {
        .program = shadow ? machine.shadow_entry : facts_.body,
        .takes_argument = shadow,
        .clobbers = shadow ? x86::kCallerSaved : facts_.clobbers,
        .context = shadow ? x86::field_bit(__builtin_offsetof(x86::Frame, sp)) : facts_.context,
        .slow = machine.slow_thunk,
        .argument = reinterpret_cast<u64>(handler),
        .active = machine.active,
        .mark = machine.mark,
        .preempt_count = machine.preempt_count,
        .wide_preempt_count = machine.wide_preempt_count,
        .hits = program.hits,
        .stats = shadow ? 0 : machine.stats,
        .resched = machine.resched,
        .cs = machine.cs,
        .ss = machine.ss,
        .smap = machine.smap,
        .return_thunk = machine.return_thunk,
    };
    return true;
}

}  // namespace djprobe::kmod
