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

x86::Live live_of(const CodeRequest& request, const Shape& shape) {
    x86::Live live = request.live;
    live.registers |= shape.kept.registers;
    live.flags |= shape.kept.flags;
    return live;
}

}  // namespace

bool CodeBuilder::may_hold(Span<const djk_handler* const> handlers) {
    size_t actions = 0;
    for (size_t i = 0; i < handlers.size(); ++i) {
        const djk_handler* handler = handlers[i];
        x86::DirectConfig unused;
        const bool is_last = i + 1 == handlers.size();
        if (!handler->counter && (!is_last || !calls_.describe(machine_, handler, unused)))
            return false;
        actions += actions_of(handler).size();
        // What a timer rarely does stands behind the detour, which has one place for that.
        if (handlers.size() > 1 && djk_handler_times(handler).entries) return false;
    }
    return handlers.size() == 1 || actions <= x86::kMostSharedActions;
}

Reads CodeBuilder::reads_of(const djk_handler* handler) {
    const x86::RegisterSet operands = x86::operands_of(actions_of(handler));
    const x86::FieldSet fields =
        handler->counter ? x86::FieldSet{0} : calls_.context_of(machine_, handler);
    return {
        static_cast<x86::RegisterSet>((operands | x86::registers_of(fields)) & x86::kCallerSaved),
        (fields & x86::kFlagsField) != 0};
}

x86::CountConfig CodeBuilder::count_of(const djk_handler* handler) const {
    return {.counter = handler->counter,
            .lahf = machine_.lahf,
            .return_thunk = machine_.return_thunk,
            .actions = actions_of(handler),
            .task = task_of(machine_),
            .times = times_of(machine_, handler)};
}

x86::FrontConfig CodeBuilder::front_of(const djk_handler* handler) const {
    return {.conditions = actions_of(handler), .task = task_of(machine_), .lahf = machine_.lahf};
}

/// A detour that does itself what the handlers do.
Refusal CodeBuilder::emit_held(const CodeRequest& request, const Shape& shape, u64 address,
                               Span<u8> out, x86::DetourLayout& layout) {
    const x86::Live live = live_of(request, shape);
    x86::CountConfig counts[kMostHeld];
    size_t count = 0;
    while (count < shape.count && shape.held[count]->counter) {
        counts[count] = count_of(shape.held[count]);
        ++count;
    }
    if (count == shape.count) {
        x86::CountConfig& last = counts[count - 1];
        last.first = {counts, count - 1};
        return emit_counting_detour(request.plan, last, live, address, out, layout);
    }
    const djk_handler* const program = shape.held[count];
    x86::DirectConfig direct;
    // It could be described when the shape was chosen.
    if (!calls_.describe(machine_, program, direct)) return Refusal{Reason::NO_MEMORY};
    direct.front = front_of(program);
    direct.first = {counts, count};
    return emit_direct_detour(request.plan, direct, live, address, out, layout);
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
    if (shape.holds()) return emit_held(request, shape, address, out, layout);
    if (shape.front) config.front = front_of(shape.held[0]);
    config.live = live_of(request, shape);
    return emit_detour(plan, config, address, out, layout);
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
