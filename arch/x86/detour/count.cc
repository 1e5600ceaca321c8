// SPDX-License-Identifier: GPL-2.0
#include "count.h"

#include "frame.h"

namespace djprobe::x86 {
namespace {

constexpr RegisterSet kRaxOnly = register_bit(kRax);
/// Those of the caller first. Of the others none that needs a longer address, and not rbp, by which
/// an unwinder finds its way through a detour.
constexpr RegisterSet kOthers = register_bit(3) | register_bit(14) | register_bit(15);
constexpr Action kIncrement[] = {{DJPROBE_ACTION_COUNT, 0, 0, 0, 0, 0}};

u8 first_of(RegisterSet registers) {
    return static_cast<u8>(__builtin_ctz(registers));
}

/// Not by a builtin: without the instruction for it that would be a call of a library.
size_t count_of(RegisterSet registers) {
    size_t count = 0;
    for (; registers; registers &= static_cast<RegisterSet>(registers - 1))
        ++count;
    return count;
}

}  // namespace

Count::Count(const CountConfig& config, const Live& live)
    : actions_(config.actions.empty() ? Span<const Action>(kIncrement) : config.actions),
      counter_(config.counter) {
    for (const Action& action : actions_) {
        const size_t taken = ActionWriter::scratches(action, counter_);
        if (taken > scratches_) scratches_ = taken;
    }
    const RegisterSet operands = operands_of(actions_);
    const RegisterSet kept = live.flags && config.lahf ? operands | kRaxOnly : operands;
    choose_scratch(kept, live.registers);
    if (!live.flags) return;
    // In rax, unless an operand is there, or two registers would have to be pushed for that.
    const auto pushed = static_cast<RegisterSet>(pushed_ | (live.registers & kRaxOnly));
    if (config.lahf && !(operands & kRaxOnly) && count_of(pushed) <= 1) {
        flags_ = Flags::InRax;
        pushed_ = pushed;
        return;
    }
    flags_ = Flags::Pushed;
    choose_scratch(operands, live.registers);
}

/// Dead registers first.
void Count::choose_scratch(RegisterSet kept, RegisterSet live) {
    RegisterSet free = kCallerSaved & ~kept, others = kOthers & ~kept;
    pushed_ = 0;
    for (size_t i = 0; i < scratches_; ++i) {
        const auto dead = static_cast<RegisterSet>(free & ~live);
        scratch_[i] = first_of(dead ? dead : free ? free : others);
        const RegisterSet bit = register_bit(scratch_[i]);
        if (!dead) pushed_ |= bit;
        free &= ~bit;
        others &= ~bit;
    }
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

void Count::emit(Emitter& out) {
    push_registers(pushed_, out);
    save_flags(out);
    handler_ = out.size();
    const size_t pushes = count_of(pushed_) + (flags_ == Flags::Pushed ? 1 : 0);
    ActionWriter writer(counter_, scratch_, static_cast<u32>(pushes * sizeof(u64)), out);
    Label end;
    for (const Action& action : actions_)
        writer.write(action, end);
    out.bind(end);
    after_ = out.size();
    restore_flags(out);
    pop_registers(pushed_, out);
}

}  // namespace djprobe::x86
