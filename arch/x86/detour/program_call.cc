// SPDX-License-Identifier: GPL-2.0
#include "program_call.h"

#include "encoding.h"
#include "increment.h"

namespace djprobe::x86 {
namespace {

constexpr u8 kIncrement = 0, kDecrement = 1;
constexpr u8 kAdd = 0, kSubtract = 5;

/// Opcode ff /operation on a per-CPU word of 32 bits, or, wide, of 64.
void count_per_cpu(u8 operation, i32 offset, bool wide, Emitter& out) {
    if (!offset) return;
    out.code(kGs);
    if (wide) out.code(0x48);
    out.code(0xff, 0x04 | operation << 3, 0x25);  // gs: absolute
    out.imm32(static_cast<u32>(offset));
}

/// Opcode 83 /operation on a 32-bit per-CPU word.
void add_per_cpu(u8 operation, i32 offset, i8 value, Emitter& out) {
    out.code(kGs, 0x83, 0x04 | operation << 3, 0x25);  // gs: absolute
    out.imm32(static_cast<u32>(offset));
    out.byte(static_cast<u8>(value));
}

/// What changes on the hot path, whatever is live.
RegisterSet changed_by(const DirectConfig& config) {
    // rax: what the guard looks at, what has to be computed for the context or the counter.
    RegisterSet changed = (config.clobbers | register_bit(kRax)) & kCallerSaved;
    if (config.context) changed |= register_bit(kRdi);
    if (config.takes_argument) changed |= register_bit(kRsi);
    return changed;
}

/// What the program sees must be the site's, whether the site still needs it or not.
Live read_by(const DirectConfig& config) {
    return {registers_of(config.context), (config.context & kFlagsField) != 0, false};
}

/// The same of the conditions in front, too.
Live read_in_all(const DirectConfig& config) {
    return merge(read_by(config), {operands_of(config.front.conditions), false, false});
}

/// Which registers the frame keeps, if they are saved at all: those that it shows, and those that
/// change before the others are pushed. A push takes half the bytes of a move.
RegisterSet framed_by(const DirectConfig& config) {
    if (!config.context) return 0;
    return register_bit(kRdi) | register_bit(kRax) | registers_of(config.context);
}

}  // namespace

ProgramCall::ProgramCall(const DirectConfig& config, const Live& live, u64 site)
    : config_(config),
      live_(live),
      front_(config.front, live, read_by(config)),
      constants_{site, config.cs, config.ss},
      changed_(changed_by(config)),
      framed_(framed_by(config) & live.registers & changed_),
      pushed_(live.registers & changed_ & ~framed_) {}

void ProgramCall::save(Emitter& out) const {
    const FieldSet flags = saves_flags() ? kFlagsField : 0;
    if (config_.context == kAllFields) {
        push_frame(constants_, out);
    } else if (config_.context) {
        push_record(constants_.ip, out);
        reserve_frame(out);
        store_fields(config_.context | fields_of(framed_) | flags, constants_, out);
    } else {
        push_record(constants_.ip, out);
        if (flags) out.code(0x9c);  // pushf
    }
    // The ABI's promises to the program: no user-access window, strings run upwards.
    if (live_.system_flags) {
        out.code(0xfc);                                // cld
        if (config_.smap) out.code(0x0f, 0x01, 0xca);  // clac
    }
    if (config_.context) out.code(0x48, 0x89, 0xe7);  // mov %rsp, %rdi
    push_registers(pushed_, out);
}

void ProgramCall::restore(Emitter& out) const {
    pop_registers(pushed_, out);
    if (config_.context) {
        if (saves_flags()) load_flags(out);
        load_registers(framed_, out);
        drop_frame(out);
        return;
    }
    if (saves_flags()) out.code(0x9d);  // popf
    pop_record(out);
}

/// Preemption is off from the first increment on: each of these is one instruction on this CPU's
/// own word, which neither an interrupt nor another CPU can split.
void ProgramCall::guard(Emitter& out) {
    count_per_cpu(kIncrement, config_.preempt_count, config_.wide_preempt_count, out);
    // Two questions, one branch.
    out.code(kGs, 0x8b, 0x04, 0x25);  // mov %gs:active, %eax
    out.imm32(static_cast<u32>(config_.active));
    if (config_.stats) {
        out.code(0x0b, 0x05);  // or stats(%rip), %eax
        out.rel32(config_.stats);
    } else {
        out.code(0x85, 0xc0);  // test %eax, %eax
    }
    out.jump_if(Condition::NotZero, slow_);
    add_per_cpu(kAdd, config_.active, config_.mark, out);
    if (config_.takes_argument) {
        out.code(0x48, 0xbe);  // movabs $argument, %rsi
        out.imm64(config_.argument);
    }
    handler_ = out.size();
    out.call(config_.program);
    after_ = out.size();
    add_per_cpu(kSubtract, config_.active, config_.mark, out);
    if (config_.hits) increment_per_cpu(config_.hits, kRax, out);
    join_ = out.here();
    count_per_cpu(kDecrement, config_.preempt_count, config_.wide_preempt_count, out);
    if (config_.preempt_count && config_.resched) out.jump_if(Condition::Zero, resched_);
}

void ProgramCall::emit(Emitter& out) {
    const size_t counted = emit_counts(config_.first, live_, read_in_all(config_), out);
    front_.emit(out);
    save(out);
    guard(out);
    if (!config_.first.empty()) handler_ = counted;
    restore_ = out.here();
    restore(out);
    front_.end(out);
}

void ProgramCall::emit_cold(Emitter& out) {
    front_.emit_cold(out);
    out.bind(slow_);
    out.code(0x48, 0xb8);  // movabs $argument, %rax
    out.imm64(config_.argument);
    out.call(config_.slow);
    out.jump_back(join_);
    if (!config_.preempt_count || !config_.resched) return;
    out.bind(resched_);
    out.call(config_.resched);
    out.jump_back(restore_);
}

}  // namespace djprobe::x86
