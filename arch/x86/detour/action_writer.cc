// SPDX-License-Identifier: GPL-2.0
#include "action_writer.h"

#include "encoding.h"
#include "increment.h"

namespace djprobe::x86 {
namespace {

constexpr u8 kRsp = DJPROBE_REG_SP;

/// Whether the operand is not a register as it is: elsewhere, a part of one, or rsp, which pushes
/// have moved.
bool needs_load(const Action& action) {
    if (is_elapsed(action)) return false;
    const bool elsewhere = is_of_task(action) || is_in_memory(action);
    return has_operand(action) && (elsewhere || action.width != 8 || action.reg == kRsp);
}

/// Whether what an extreme compares is something else than its operand.
bool is_turned(const Action& action) {
    return is_signed(action) || action.operation == DJPROBE_ACTION_MIN;
}

/// Where the counter lies that the action names, or the first of a histogram that bsr finds: the
/// slots begin at 0, and so do bits, whose numbers with "none" begin at -1.
i64 place_of(const Action& action, i64 counter) {
    const i64 slot = action.operation == DJPROBE_ACTION_LOG2 ? sizeof(u64) : 0;
    return counter + action.offset + slot;
}

/// An extreme has a second counter.
bool is_far(const Action& action, i64 counter) {
    const i64 place = place_of(action, counter);
    return !fits_i32(place) || (is_extreme(action) && !fits_i32(place + i64{sizeof(u64)}));
}

/// Whether a comparison of 4 bytes of memory with 4 bytes of the value tells what one of all 8
/// would: if neither was extended, or both in the same way. Only of the task's memory: what a site
/// reads may be a device, and a hypervisor that emulates the access knows plain loads.
bool compares_in_memory(const Action& action) {
    if (!is_of_task(action)) return false;
    const auto value = static_cast<i64>(action.value);
    if (action.width == 8) return true;
    if (action.width != 4) return false;
    return is_signed(action) ? fits_i32(value) : action.value >> 32 == 0;
}

/// Whether the value is one that a cmp of the operand holds.
bool is_immediate(const Action& action) {
    const bool half = compares_in_memory(action) && action.width == 4;
    return half || fits_i32(static_cast<i64>(action.value));
}

/// What leads to the list's end: the opposite of the comparison.
Condition opposite(const Action& action) {
    switch (action.operation) {
        case DJPROBE_ACTION_IF_EQ:
            return Condition::NotZero;
        case DJPROBE_ACTION_IF_NE:
            return Condition::Zero;
        case DJPROBE_ACTION_IF_LT:
            return is_signed(action) ? Condition::GreaterOrEqual : Condition::AboveOrEqual;
        case DJPROBE_ACTION_IF_LE:
            return is_signed(action) ? Condition::Greater : Condition::Above;
        case DJPROBE_ACTION_IF_GT:
            return is_signed(action) ? Condition::LessOrEqual : Condition::BelowOrEqual;
        default:
            return is_signed(action) ? Condition::Less : Condition::Below;
    }
}

u8 without_w(u8 rex) {
    return static_cast<u8>(rex & ~8);
}

void move(u8 from, u8 to, Emitter& out) {
    out.code(rex(from, 0, to), 0x89, modrm(3, from, to));
}

}  // namespace

bool ActionWriter::reaches_far(const Action& action, i64 counter) {
    return !compares(action) && action.operation != DJPROBE_ACTION_ELAPSED &&
           is_far(action, counter);
}

size_t ActionWriter::scratches(const Action& action, i64 counter, bool rax_is_operand) {
    const size_t loaded = needs_load(action) ? 1 : 0;
    const size_t far = is_far(action, counter) ? 1 : 0;
    if (is_timer(action)) return action.operation == DJPROBE_ACTION_TIME ? 2 : 3;
    if (compares(action)) return loaded + (is_immediate(action) ? 0 : 1);
    if (action.operation == DJPROBE_ACTION_LOG2) return 1 + (loaded | far);
    if (!is_extreme(action)) return loaded + far;
    const size_t key = loaded || is_turned(action) ? 1 : 0;
    return key + far + (rax_is_operand ? 1 : 0);
}

void ActionWriter::operand(u8 reg, const Source& source) {
    if (!source.is_memory) return out_.code(modrm(3, reg, source.reg));
    out_.code(modrm(2, reg, source.reg));  // displacement(source.reg)
    if ((source.reg & 7) == kBySib) out_.byte(0x24);
    out_.imm32(source.displacement);
}

/// movl, from memory.
u8 ActionWriter::load_half(const Source& from, u8 to) {
    out_.code(without_w(rex(to, 0, from.reg)), 0x8b);
    operand(to, from);
    return to;
}

/// From a register or memory, which plain loads read. Whole registers stay as they are.
void ActionWriter::extend(const Action& action, const Source& from, u8 to) {
    const u8 wide = rex(to, 0, from.reg);
    switch (action.width) {
        case 1:  // movzbq, movsbq
            out_.code(wide, 0x0f, is_signed(action) ? 0xbe : 0xb6);
            break;
        case 2:  // movzwq, movswq
            out_.code(wide, 0x0f, is_signed(action) ? 0xbf : 0xb7);
            break;
        case 4:  // movslq, or movl, which clears the upper half
            if (is_signed(action) && from.is_memory) {
                extend(action, {load_half(from, to), false, 0}, to);
                return;
            }
            is_signed(action) ? out_.code(wide, 0x63) : out_.code(without_w(wide), 0x8b);
            break;
        default:
            if (!from.is_memory) return;
            out_.code(wide, 0x8b);
            break;
    }
    operand(to, from);
}

/// Where the operand's bytes are. The task's address is read anew for each action: one instruction,
/// which needs no register that lives on.
ActionWriter::Source ActionWriter::source(const Action& action) {
    if (is_elapsed(action)) return {registers_.found(), false, 0};
    if (is_of_task(action)) {
        const u8 task = take();
        out_.code(kGs, rex(task, 0, 0), 0x8b, modrm(0, task, kBySib), 0x25);
        out_.imm32(static_cast<u32>(place_.task.current));  // mov %gs:current, task
        return {task, true, place_.task.fields[action.reg]};
    }
    const auto displacement = static_cast<u32>(displacement_of(action));
    if (is_in_memory(action))
        return {action.reg, true, displacement + (action.reg == kRsp ? place_.depth : 0)};
    if (action.reg != kRsp) return {action.reg, false, 0};
    const u8 to = take();
    out_.code(rex(to, 0, 0), 0x8d, modrm(2, to, kBySib), 0x24);  // lea depth(%rsp), to
    out_.imm32(place_.depth);
    return {to, false, 0};
}

/// The register that holds the operand's 64 bits.
u8 ActionWriter::load(const Action& action) {
    const size_t before = taken_;
    const Source from = source(action);
    if (!needs_load(action)) return from.reg;
    const u8 to = taken_ == before ? take() : from.reg;
    extend(action, from, to);
    return to;
}

void ActionWriter::compare(const Action& action, Label& end) {
    const bool in_memory = compares_in_memory(action);
    const Source left = in_memory ? source(action) : Source{load(action), false, 0};
    const bool half = in_memory && action.width == 4;
    const auto prefix = [&](u8 reg) {
        const u8 wide = rex(reg, 0, left.reg);
        if (!half) return out_.byte(wide);
        if (without_w(wide) != 0x40) out_.byte(without_w(wide));
    };
    if (is_immediate(action)) {
        prefix(0);
        out_.code(0x81);  // cmp $value, left
        operand(7, left);
        out_.imm32(static_cast<u32>(action.value));
    } else {
        const u8 other = take();
        load_constant(action.value, other, out_);
        prefix(other);
        out_.code(0x39);  // cmp other, left
        operand(other, left);
    }
    out_.jump_if(opposite(action), end);
}

/// Loads what it takes to get there.
CounterOperand ActionWriter::counter_of(const Action& action) {
    const i64 counter = place_of(action, place_.counter);
    if (!is_far(action, place_.counter)) return near_counter(counter);
    if (base_.reaches(counter)) return base_.reach(counter, out_);
    return far_counter(counter, take(), out_);
}

void ActionWriter::add(const Action& action) {
    const u8 value = load(action);
    counter_of(action).write(value, out_, 0x01);  // add value, %gs:counter
}

/// The slot is that of fls64(), which the kernel computes in the same way: bsr leaves its register
/// alone where no bit is set, as AMD's manual says and Intel's CPUs do (asm/bitops.h).
void ActionWriter::histogram(const Action& action) {
    const u8 slot = take();
    const size_t before = taken_;
    const u8 value = load(action);
    out_.code(rex(0, 0, slot), 0xc7, modrm(3, 0, slot));  // mov $-1, slot
    out_.imm32(~0u);
    out_.code(rex(slot, 0, value), 0x0f, 0xbd, modrm(3, slot, value));  // bsr value, slot
    taken_ = before;  // the operand is not needed any more
    counter_of(action).increment_slot(slot, out_);
}

/// What is compared, so that the greatest is looked for and 0 is less than all: the operand, with
/// the sign turned around if it counts, and for the least its complement.
u8 ActionWriter::key_of(const Action& action, u8 saved_rax) {
    u8 key = load(action);
    if (!needs_load(action) && !is_turned(action)) return key == kRax ? saved_rax : key;
    if (!needs_load(action)) {
        const u8 copy = take();
        move(key, copy, out_);
        key = copy;
    }
    if (is_signed(action)) out_.code(rex(0, 0, key), 0x0f, 0xba, modrm(3, 7, key), 63);  // btc
    if (action.operation == DJPROBE_ACTION_MIN)
        out_.code(rex(0, 0, key), 0xf7, modrm(3, 2, key));  // not key
    return key;
}

/// No other CPU writes to the counter, so a cmpxchg without a lock is whole. It stores only over a
/// value that is less, whatever has come between it and the comparison: had an interrupt stored, or
/// had the task moved to a CPU with another value, it would have found another one than rax. And
/// where rax was not less, it is the value of a counter that has seen as much. Each failed try has
/// seen another value; the third would be one too many for code without a loop, and is counted.
void ActionWriter::keep_greater(u8 key, const CounterOperand& greatest) {
    Label done;
    greatest.write(kRax, out_, 0x8b);  // mov %gs:greatest, %rax
    for (int attempt = 0; attempt < 2; ++attempt) {
        out_.code(rex(key, 0, kRax), 0x39, modrm(3, key, kRax));  // cmp key, %rax
        out_.jump_if(Condition::AboveOrEqual, done);
        greatest.write(key, out_, 0x0f, 0xb1);  // cmpxchg key, %gs:greatest
        out_.jump_if(Condition::Zero, done);
    }
    increment_per_cpu(greatest.next(), out_);  // of those that were not compared
    out_.bind(done);
}

void ActionWriter::extreme(const Action& action) {
    const u8 saved_rax = registers_.rax_is_operand ? take() : u8{kRax};
    if (registers_.rax_is_operand) move(kRax, saved_rax, out_);
    const u8 key = key_of(action, saved_rax);
    keep_greater(key, counter_of(action));
    if (registers_.rax_is_operand) move(saved_rax, kRax, out_);
}

void ActionWriter::write(const Action& action, Label& end) {
    taken_ = 0;
    if (compares(action)) {
        compare(action, end);
    } else if (is_timer(action)) {
        timer_.write(action, base_, out_);
    } else if (is_extreme(action)) {
        extreme(action);
    } else if (action.operation == DJPROBE_ACTION_LOG2) {
        histogram(action);
    } else if (action.operation == DJPROBE_ACTION_ADD) {
        add(action);
    } else {
        increment_per_cpu(counter_of(action), out_);
    }
}

}  // namespace djprobe::x86
