// SPDX-License-Identifier: GPL-2.0
#include "count.h"

#include "frame.h"

namespace djprobe::x86 {
namespace {

constexpr RegisterSet kRaxOnly = register_bit(kRax);
/// Those of the caller first. Of the others none that needs a longer address, and not rbp, by which
/// an unwinder finds its way through a detour.
constexpr RegisterSet kOthers = register_bit(3) | register_bit(14) | register_bit(15);
constexpr RegisterSet kRaxAndRdx = register_bit(kRax) | register_bit(kRdx);
constexpr Action kPlainCount[] = {{DJPROBE_ACTION_COUNT, 0, 0, 0, 0, 0}};

u8 first_of(RegisterSet registers) {
    return static_cast<u8>(__builtin_ctz(registers));
}

}  // namespace

Live read_by(const CountConfig& config) {
    return {operands_of(config.actions), false, false};
}

size_t emit_counts(Span<const CountConfig> counts, const Live& live, const Live& read,
                   Emitter& out) {
    size_t first = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
        Live behind = merge(live, read);
        for (size_t later = i + 1; later < counts.size(); ++later)
            behind = merge(behind, read_by(counts[later]));
        Count count(counts[i], behind);
        count.emit(out);
        if (i == 0) first = count.handler();
    }
    return first;
}

Count::Count(const CountConfig& config, const Live& live)
    : actions_(config.actions.empty() ? Span<const Action>(kPlainCount) : config.actions),
      place_{config.counter, config.task, 0} {
    registers_.rax_is_operand = (operands_of(actions_) & kRaxOnly) != 0;
    for (const Action& action : actions_) {
        const size_t taken =
            ActionWriter::scratches(action, place_.counter, registers_.rax_is_operand);
        if (taken > scratches_) scratches_ = taken;
        far_ += ActionWriter::reaches_far(action, place_.counter);
        if (is_extreme(action)) taken_ |= kRaxOnly;
        if (is_timer(action)) taken_ |= kRaxAndRdx;
    }
    choose_flags(config, live);
    timer_ = TimerWriter({place_.counter, config.task, config.times},
                         {registers_.scratch[0], registers_.scratch[1], registers_.found()});
}

void Count::choose_flags(const CountConfig& config, const Live& live) {
    const RegisterSet operands = operands_of(actions_);
    const auto kept = static_cast<RegisterSet>(operands | taken_);
    const bool lahf = live.flags && config.lahf && !taken_;
    choose_scratch(lahf ? kept | kRaxOnly : kept, live.registers);
    if (!live.flags) return;
    // In rax, unless an operand is there, or two registers would have to be pushed for that.
    const auto pushed = static_cast<RegisterSet>(pushed_ | (live.registers & kRaxOnly));
    if (lahf && !(operands & kRaxOnly) && count_of(pushed) <= 1) {
        flags_ = Flags::InRax;
        pushed_ = pushed;
        return;
    }
    flags_ = Flags::Pushed;
    choose_scratch(kept, live.registers);
}

/// Dead registers first.
void Count::choose_scratch(RegisterSet kept, RegisterSet live) {
    RegisterSet free = kCallerSaved & ~kept, others = kOthers & ~kept;
    // An extreme gives back what it takes of an operand.
    const RegisterSet given_back = registers_.rax_is_operand ? kRaxOnly : RegisterSet{0};
    pushed_ = static_cast<RegisterSet>(live & taken_ & ~given_back);
    for (size_t i = 0; i < scratches_; ++i) {
        const auto dead = static_cast<RegisterSet>(free & ~live);
        registers_.scratch[i] = first_of(dead ? dead : free ? free : others);
        const RegisterSet bit = register_bit(registers_.scratch[i]);
        if (!dead) pushed_ |= bit;
        free &= ~bit;
        others &= ~bit;
    }
    choose_base(static_cast<RegisterSet>(free & ~live));
}

/// Only a dead one: to save one takes as long as to load two addresses.
void Count::choose_base(RegisterSet dead) {
    base_ = far_ > 1 && dead ? CounterBase(first_of(dead)) : CounterBase();
}

/// The overflow flag is none of those that lahf stores.
void Count::save_flags(Emitter& out) const {
    if (flags_ == Flags::InRax) out.code(0x9f, 0x0f, 0x90, 0xc0);  // lahf; seto %al
    if (flags_ == Flags::Pushed) out.code(0x9c);                   // pushf
}

void Count::restore_flags(Emitter& out) const {
    if (flags_ == Flags::InRax) out.code(0x04, 0x7f, 0x9e);  // add $0x7f, %al: overflows if 1; sahf
    if (flags_ == Flags::Pushed) out.code(0x9d);             // popf
}

void Count::begin(Emitter& out) {
    push_registers(pushed_, out);
    save_flags(out);
    handler_ = out.size();
    const size_t pushes = count_of(pushed_) + (flags_ == Flags::Pushed ? 1 : 0);
    place_.depth = static_cast<u32>(pushes * sizeof(u64));
    ActionWriter writer(place_, registers_, timer_, base_, out);
    for (const Action& action : actions_)
        writer.write(action, end_);
    after_ = out.size();
}

void Count::restore(Emitter& out) const {
    restore_flags(out);
    pop_registers(pushed_, out);
}

void Count::drop_flags(Emitter& out) const {
    if (flags_ == Flags::Pushed) out.code(0x48, 0x8d, 0x64, 0x24, 0x08);  // lea 8(%rsp), %rsp
    pop_registers(pushed_, out);
}

void Count::emit(Emitter& out) {
    begin(out);
    bind_end(out);
    end_at_ = out.here();
    restore(out);
}

}  // namespace djprobe::x86
