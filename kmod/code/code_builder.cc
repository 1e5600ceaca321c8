// SPDX-License-Identifier: GPL-2.0
#include "code_builder.h"

namespace djprobe::kmod {
namespace {

x86::TaskLayout task_of(const djk_machine& machine) {
    x86::TaskLayout task = {machine.current_task};
    for (size_t i = 0; i < DJPROBE_TASK_FIELDS; ++i)
        task.fields[i] = machine.task_fields[i];
    return task;
}

x86::TimesTable times_of(const djk_machine& machine, const djk_handler* handler) {
    const djk_times times = djk_handler_times(handler);
    return {times.entries, times.mask, machine.cpu_number};
}

}  // namespace

bool CodeBuilder::does_itself(const djk_handler* handler) {
    x86::DirectConfig config;
    return handler->counter || calls_.describe(machine_, handler, config);
}

Reads CodeBuilder::reads_of(const djk_handler* handler) {
    const x86::RegisterSet operands = x86::operands_of(actions_of(handler));
    const x86::FieldSet fields =
        handler->counter ? x86::FieldSet{0} : calls_.context_of(machine_, handler);
    return {
        static_cast<x86::RegisterSet>((operands | x86::registers_of(fields)) & x86::kCallerSaved),
        (fields & x86::kFlagsField) != 0};
}

Refusal CodeBuilder::emit(const CodeRequest& request, const Shape& shape, u64 address, Span<u8> out,
                          x86::DetourLayout& layout) {
    const x86::Plan& plan = request.plan;
    const u64 argument = reinterpret_cast<u64>(&request.site);
    x86::DetourConfig config = {
        .handler = machine_.hit_handler,
        .argument = argument,
        .redirects = (shape.wants & DJK_WANTS_REDIRECT) != 0,
        .after = (shape.wants & DJK_WANTS_AFTER) != 0,
        .after_argument = argument | DJK_AFTER,
        .cs = machine_.cs,
        .ss = machine_.ss,
        .smap = machine_.smap,
        .return_thunk = machine_.return_thunk,
    };
    if (!plan.may_jump()) return emit_out_of_line(plan, config, address, out, layout);
    x86::Live live = request.live;
    live.registers |= shape.kept.registers;
    live.flags |= shape.kept.flags;
    if (shape.direct && shape.direct->counter) {
        const x86::CountConfig count = {.counter = shape.direct->counter,
                                        .lahf = machine_.lahf,
                                        .return_thunk = machine_.return_thunk,
                                        .actions = actions_of(shape.direct),
                                        .task = task_of(machine_),
                                        .times = times_of(machine_, shape.direct)};
        return emit_counting_detour(plan, count, live, address, out, layout);
    }
    x86::FrontConfig front;
    if (shape.front)
        front = {.conditions = actions_of(shape.front),
                 .task = task_of(machine_),
                 .lahf = machine_.lahf};
    x86::DirectConfig direct;
    if (!shape.direct || !calls_.describe(machine_, shape.direct, direct)) {
        config.front = front;
        config.live = live;
        return emit_detour(plan, config, address, out, layout);
    }
    direct.front = front;
    return emit_direct_detour(plan, direct, live, address, out, layout);
}

/// OUT_OF_REACH: no jump leads from the text to the slot.
static Refusal check_reach(const x86::Plan& plan, u64 entry) {
    x86::PatchSite unused;
    if (const Refusal refusal = make_jump_site(plan, entry, unused)) return refusal;
    return plan.tactic == x86::Tactic::Springboard ? make_board(plan, entry, unused) : Refusal{};
}

Refusal CodeBuilder::build(const CodeRequest& request, SiteCode& code) {
    const x86::Plan& plan = request.plan;
    u8 bytes[x86::kMaxDetour];
    // The first pass finds the size, which does not depend on the place.
    if (const Refusal refusal = emit(request, code.shape, machine_.hit_handler, bytes, code.layout))
        return refusal;
    code.slot = slots_.take(code.layout.size);
    if (!code.slot) return Refusal{Reason::NO_MEMORY};
    if (const Refusal refusal = emit(request, code.shape, code.slot.address(), bytes, code.layout))
        return refusal;
    if (plan.may_jump())
        if (const Refusal refusal = check_reach(plan, code.entry())) return refusal;
    writer_.add(code.slot.address(), {bytes, code.layout.size});
    return {};
}

}  // namespace djprobe::kmod
