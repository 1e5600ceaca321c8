// SPDX-License-Identifier: GPL-2.0
#include "direct_call.h"

#include "context_use.h"

namespace djprobe::kmod {

DirectCalls::Facts DirectCalls::analyse(const djk_machine& machine, const djk_program& program) {
    Facts facts;
    const Array<ContextState> state(program.insn_count);
    if (!state) return facts;
    const Span<const BpfInsn> insns = {static_cast<const BpfInsn*>(program.insns),
                                       program.insn_count};
    const ContextUse use = find_context_use(insns, state.all(), djk_needs_run_context);
    facts.direct = !use.needs_run_context;
    facts.context = use.fields;
    const auto* code = reinterpret_cast<const u8*>(program.code);
    facts.clobbers = x86::find_clobbers({program.code, {code, program.code_size}},
                                        {machine.return_thunks.begin, machine.return_thunks.end});
    return facts;
}

bool DirectCalls::describe(const djk_machine& machine, const djk_probe* handler,
                           x86::DirectConfig& out) {
    djk_program program;
    if (!machine.active || !djk_probe_program(handler, &program)) return false;
    if (known_ != program.insns) facts_ = analyse(machine, program);
    known_ = program.insns;
    if (!facts_.direct) return false;
    out = {
        .program = program.code,
        .clobbers = facts_.clobbers,
        .context = facts_.context,
        .slow = machine.slow_handler,
        .argument = reinterpret_cast<u64>(handler),
        .active = machine.active,
        .depth = machine.depth,
        .preempt_count = machine.preempt_count,
        .hits = program.hits,
        .stats = machine.stats,
        .resched = machine.resched,
        .cs = machine.cs,
        .ss = machine.ss,
        .smap = machine.smap,
    };
    return true;
}

}  // namespace djprobe::kmod
