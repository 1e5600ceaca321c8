// SPDX-License-Identifier: GPL-2.0
#include "timer_writer.h"

#include "../insn/effects.h"
#include "encoding.h"
#include "increment.h"

namespace djprobe::x86 {
namespace {

constexpr u32 kCountersOfTime = 3;  // fresh, again, without a place
constexpr u32 kHead = DJPROBE_TIMES_HEAD * sizeof(u64);

/// An instruction with 32 bits needs a prefix for high registers only.
void rex_of_half(u8 reg, u8 index, u8 base, Emitter& out) {
    const u8 prefix = rex(reg, index, base) & ~8;
    if (prefix != 0x40) out.byte(prefix);
}

/// mov %gs:offset, reg: of it 4 bytes, or with `wide` 8.
void load_per_cpu(i32 offset, bool wide, u8 reg, Emitter& out) {
    out.byte(kGs);
    wide ? out.byte(rex(reg, 0, 0)) : rex_of_half(reg, 0, 0, out);
    out.code(0x8b, modrm(0, reg, kBySib), 0x25);
    out.imm32(static_cast<u32>(offset));
}

}  // namespace

/// The index's hash, which also clears the upper half.
void TimerWriter::scale_index(u32 mask) {
    const u8 index = registers_.index;
    rex_of_half(index, 0, index, *out_);
    out_->code(0x69, modrm(3, index, index));  // imul $factor, index, index
    out_->imm32(DJPROBE_TIMES_FACTOR);
    rex_of_half(0, 0, index, *out_);
    out_->code(0x81, modrm(3, 4, index));  // and $mask, index
    out_->imm32(mask);
}

/// ModRM and what follows it: head(table, index, 8).
void TimerWriter::slot_operand(u8 reg) {
    constexpr u8 kTimes8 = 3;
    out_->code(modrm(2, reg, kBySib), modrm(kTimes8, registers_.index, registers_.table));
    out_->imm32(kHead);
}

void TimerWriter::find_slot() {
    const u8 table = registers_.table, index = registers_.index;
    load_constant(place_.times.entries, table, *out_);
    load_per_cpu(place_.task.current, true, index, *out_);
    rex_of_half(index, 0, index, *out_);
    out_->code(0x8b, modrm(2, index, index));  // mov number(index), index
    out_->imm32(place_.task.fields[DJPROBE_TASK_PID]);
    rex_of_half(index, 0, table, *out_);
    out_->code(0x39, modrm(0, index, table));  // cmp index, (table)
    out_->jump_if(Condition::Below, no_part_);
    scale_index(place_.times.mask);
    slot_known_ = out_->here();
    out_->code(rex(0, index, table), 0x83);  // cmpq $-1, slot
    slot_operand(7);
    out_->byte(0xff);
    out_->jump_if(Condition::Zero, marked_);
}

/// Into rax.
void TimerWriter::read_clock() {
    out_->code(0x0f, 0xae, 0xe8);                   // lfence
    out_->code(0x0f, 0x31);                         // rdtsc
    out_->code(0x48, 0xc1, modrm(3, 4, kRdx), 32);  // shl $32, %rdx
    out_->code(0x48, 0x09, modrm(3, kRdx, kRax));   // or %rdx, %rax
}

void TimerWriter::count(u32 which) {
    const i64 counter = place_.counter + action_->offset + i64{which} * i64{sizeof(u64)};
    increment_per_cpu(counter, registers_.index, *out_);
}

void TimerWriter::time(CounterBase base) {
    read_clock();
    out_->code(rex(kRax, registers_.index, registers_.table), 0x87);  // xchg %rax, slot
    slot_operand(kRax);
    out_->code(0x48, 0x85, modrm(3, kRax, kRax));  // test %rax, %rax
    out_->jump_if(Condition::NotZero, other_);
    const i64 fresh = place_.counter + action_->offset;
    base.is_loaded_for(fresh) ? increment_per_cpu(base.reach(fresh, *out_), *out_) : count(0);
    resumed_ = out_->here();
}

void TimerWriter::elapsed() {
    const u8 found = registers_.found;
    rex_of_half(found, 0, found, *out_);
    out_->code(0x31, modrm(3, found, found));                          // xor found, found
    out_->code(rex(found, registers_.index, registers_.table), 0x87);  // xchg found, slot
    slot_operand(found);
    out_->code(rex(found, 0, found), 0x85, modrm(3, found, found));  // test found, found
    out_->jump_if(Condition::Zero, other_);
    read_clock();
    out_->code(rex(found, 0, kRax), 0x29, modrm(3, found, kRax));  // sub found, %rax
    out_->jump_if(Condition::Below, back_);
    resumed_ = out_->here();
    convert();
}

/// rax times value / 2^32, into `found`.
void TimerWriter::convert() {
    if (action_->value >> 32) {
        load_constant(action_->value, kRdx, *out_);
    } else {
        out_->code(0xb8 | kRdx);  // mov $value, %edx
        out_->imm32(static_cast<u32>(action_->value));
    }
    out_->code(0x48, 0xf7, modrm(3, 4, kRdx));               // mul %rdx
    out_->code(0x48, 0x0f, 0xac, modrm(3, kRdx, kRax), 32);  // shrd $32, %rdx, %rax
    out_->code(rex(kRax, 0, registers_.found), 0x89, modrm(3, kRax, registers_.found));  // mov
}

void TimerWriter::write(const Action& action, const CounterBase& base, Emitter& out) {
    out_ = &out;
    action_ = &action;
    find_slot();
    action.operation == DJPROBE_ACTION_TIME ? time(base) : elapsed();
}

/// The switch holds less than any number when it is off.
void TimerWriter::end_if_off(Label& end) {
    rex_of_half(0, 0, registers_.table, *out_);
    out_->code(0x83, modrm(0, 7, registers_.table), 0);  // cmpl $0, (table)
    out_->jump_if(Condition::Zero, end);
}

/// The number is above the switch, as it was when it was compared. Above all that have a place it
/// was for another reason than that.
void TimerWriter::write_no_place(u64 end) {
    Label leave;
    out_->bind(no_part_);
    rex_of_half(0, 0, registers_.index, *out_);
    out_->code(0x81, modrm(3, 7, registers_.index));  // cmp $mask, index
    out_->imm32(place_.times.mask);
    out_->jump_if(Condition::BelowOrEqual, leave);
    end_if_off(leave);
    count(action_->operation == DJPROBE_ACTION_TIME ? kCountersOfTime - 1 : 1);
    out_->bind(leave);
    out_->jump_back(end);
}

/// Who finds ~0 at index 0 is an idle task, who finds it elsewhere takes no part.
void TimerWriter::write_idle(u64 end) {
    const u8 index = registers_.index;
    Label leave;
    out_->bind(marked_);
    out_->code(rex(index, 0, index), 0x85, modrm(3, index, index));  // test index, index
    out_->jump_if(Condition::NotZero, leave);
    end_if_off(leave);
    load_per_cpu(place_.times.cpu, false, index, *out_);
    rex_of_half(0, 0, index, *out_);
    out_->code(0x83, modrm(3, 0, index), 1);  // add $1, index
    scale_index(DJPROBE_TIMES_HEAD - 1);
    out_->code(rex(0, 0, index), 0x81, modrm(3, 5, index));  // sub $head, index
    out_->imm32(DJPROBE_TIMES_HEAD);
    out_->jump_back(slot_known_);
    out_->bind(leave);
    out_->jump_back(end);
}

void TimerWriter::write_cold(u64 end, Emitter& out) {
    if (!action_) return;
    out_ = &out;
    const bool is_time = action_->operation == DJPROBE_ACTION_TIME;
    write_no_place(end);
    write_idle(end);
    out_->bind(other_);
    count(is_time ? 1 : 0);
    out_->jump_back(is_time ? resumed_ : end);
    if (is_time) return;
    out_->bind(back_);
    out_->code(0x31, modrm(3, kRax, kRax));  // xor %eax, %eax
    out_->jump_back(resumed_);
}

}  // namespace djprobe::x86
