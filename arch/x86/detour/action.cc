// SPDX-License-Identifier: GPL-2.0
#include "action.h"

#include "increment.h"

namespace djprobe::x86 {
namespace {

constexpr u8 kRsp = DJPROBE_REG_SP;

bool compares(const Action& action) {
    return action.operation >= DJPROBE_ACTION_IF_EQ;
}

bool is_signed(const Action& action) {
    return (action.flags & DJPROBE_ACTION_SIGNED) != 0;
}

/// Whether the operand is not a register as it is: a part of one, or rsp, which pushes have moved.
bool needs_load(const Action& action) {
    return action.operation != DJPROBE_ACTION_COUNT && (action.width != 8 || action.reg == kRsp);
}

/// Where the counter lies that the action names, or the first of a histogram that bsr finds: the
/// slots begin at 0, and so do bits, whose numbers with "none" begin at -1.
i64 place_of(const Action& action, i64 counter) {
    const i64 slot = action.operation == DJPROBE_ACTION_LOG2 ? sizeof(u64) : 0;
    return counter + action.offset + slot;
}

bool is_operand(const Action& action) {
    const bool width =
        action.width == 1 || action.width == 2 || action.width == 4 || action.width == 8;
    return width && action.reg < DJPROBE_REGS && (action.flags & ~DJPROBE_ACTION_SIGNED) == 0;
}

bool is_action(const Action& action) {
    if (action.operation < DJPROBE_ACTION_COUNT || action.operation > DJPROBE_ACTION_IF_GE)
        return false;
    if (compares(action)) return is_operand(action) && action.offset == 0;
    if (action.value) return false;
    if (action.operation == DJPROBE_ACTION_COUNT)
        return !action.reg && !action.width && !action.flags;
    return is_operand(action);
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

/// REX with W: what extends the register field, the index and the base.
u8 rex(u8 reg, u8 index, u8 base) {
    return static_cast<u8>(0x48 | (reg > 7) << 2 | (index > 7) << 1 | (base > 7));
}

u8 modrm(u8 mod, u8 reg, u8 rm) {
    return static_cast<u8>(mod << 6 | (reg & 7) << 3 | (rm & 7));
}

/// From a whole register, or from a part of it.
void extend(const Action& action, u8 from, u8 to, Emitter& out) {
    const u8 registers = modrm(3, to, from);
    switch (action.width) {
        case 1:  // movzbq, movsbq
            out.code(rex(to, 0, from), 0x0f, is_signed(action) ? 0xbe : 0xb6, registers);
            break;
        case 2:  // movzwq, movswq
            out.code(rex(to, 0, from), 0x0f, is_signed(action) ? 0xbf : 0xb7, registers);
            break;
        case 4:  // movslq, or movl, which clears the upper half
            is_signed(action) ? out.code(rex(to, 0, from), 0x63, registers)
                              : out.code(rex(to, 0, from) & ~8, 0x8b, registers);
            break;
        default:
            break;
    }
}

}  // namespace

size_t find_wrong_action(Span<const Action> actions) {
    size_t i = 0;
    while (i < actions.size() && is_action(actions[i]))
        ++i;
    return i;
}

RegisterSet operands_of(Span<const Action> actions) {
    RegisterSet operands = 0;
    for (const Action& action : actions)
        if (action.operation != DJPROBE_ACTION_COUNT) operands |= register_bit(action.reg);
    return operands;
}

size_t ActionWriter::scratches(const Action& action, i64 counter) {
    const size_t loaded = needs_load(action) ? 1 : 0;
    const size_t far = fits_i32(place_of(action, counter)) ? 0 : 1;
    if (compares(action)) return loaded + (fits_i32(static_cast<i64>(action.value)) ? 0 : 1);
    if (action.operation == DJPROBE_ACTION_LOG2) return 1 + (loaded | far);
    return loaded + far;
}

/// The register that holds the operand's 64 bits.
u8 ActionWriter::load(const Action& action) {
    if (!needs_load(action)) return action.reg;
    const u8 to = take();
    if (action.reg != kRsp) {
        extend(action, action.reg, to, out_);
        return to;
    }
    out_.code(rex(to, 0, 0), 0x8d, modrm(2, to, 4), 0x24);  // lea depth(%rsp), to
    out_.imm32(depth_);
    extend(action, to, to, out_);
    return to;
}

void ActionWriter::compare(const Action& action, Label& end) {
    const u8 operand = load(action);
    if (const auto value = static_cast<i64>(action.value); fits_i32(value)) {
        out_.code(rex(0, 0, operand), 0x81, modrm(3, 7, operand));  // cmp $value, operand
        out_.imm32(static_cast<u32>(value));
    } else {
        const u8 other = take();
        load_constant(action.value, other, out_);
        out_.code(rex(other, 0, operand), 0x39, modrm(3, other, operand));  // cmp other, operand
    }
    out_.jump_if(opposite(action), end);
}

void ActionWriter::add(const Action& action) {
    const u8 operand = load(action);
    const i64 counter = place_of(action, counter_);
    if (fits_i32(counter)) {
        out_.code(0x65, rex(operand, 0, 0), 0x01, modrm(0, operand, 4), 0x25);
        out_.imm32(static_cast<u32>(counter));  // add operand, %gs:counter
        return;
    }
    const u8 address = take();
    load_constant(static_cast<u64>(counter), address, out_);
    out_.code(0x65, rex(operand, 0, address), 0x01, modrm(0, operand, address));
}

/// The slot is that of fls64(), which the kernel computes in the same way: bsr leaves its register
/// alone where no bit is set, as AMD's manual says and Intel's CPUs do (asm/bitops.h).
void ActionWriter::histogram(const Action& action) {
    const u8 slot = take();
    const size_t before = taken_;
    const u8 operand = load(action);
    out_.code(rex(0, 0, slot), 0xc7, modrm(3, 0, slot));  // mov $-1, slot
    out_.imm32(~0u);
    out_.code(rex(slot, 0, operand), 0x0f, 0xbd, modrm(3, slot, operand));  // bsr operand, slot
    const i64 first = place_of(action, counter_);
    constexpr u8 kTimes8 = 3;
    if (fits_i32(first)) {
        out_.code(0x65, rex(0, slot, 0), 0xff, modrm(0, 0, 4), modrm(kTimes8, slot, 5));
        out_.imm32(static_cast<u32>(first));  // incq %gs:first(,slot,8)
        return;
    }
    taken_ = before;  // the operand is not needed any more
    const u8 address = take();
    load_constant(static_cast<u64>(first), address, out_);
    out_.code(0x65, rex(0, slot, address), 0xff, modrm(0, 0, 4), modrm(kTimes8, slot, address));
}

void ActionWriter::write(const Action& action, Label& end) {
    taken_ = 0;
    if (compares(action)) {
        compare(action, end);
    } else if (action.operation == DJPROBE_ACTION_LOG2) {
        histogram(action);
    } else if (action.operation == DJPROBE_ACTION_ADD) {
        add(action);
    } else {
        increment_per_cpu(place_of(action, counter_), scratch_[0], out_);
    }
}

}  // namespace djprobe::x86
