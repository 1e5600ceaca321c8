// SPDX-License-Identifier: GPL-2.0
#include "detour.h"

namespace djprobe::x86 {
namespace {

constexpr u8 offset_of_sp = __builtin_offsetof(Frame, sp);
constexpr u8 offset_of_orig_ax = __builtin_offsetof(Frame, orig_ax);

// Below the site's stack: [IA + 1][rbp], then the Frame. An unwinder that meets the detour, for
// which no ORC data can exist, falls back to frame pointers and finds through rbp the caller's
// rbp, its exact stack pointer, and IA + 1 as "return address" - which it looks up as IA.
constexpr u8 kFrameRecord = 16;

void save_frame(const Plan& plan, const DetourConfig& config, Emitter& out) {
    out.push(plan.site + 1);
    out.code(0x55);  // push %rbp
    out.push(config.ss);
    out.code(0x54);  // push %rsp: corrected below, once the flags are saved
    out.code(0x9c);  // pushf
    out.push(config.cs);
    out.push(plan.site);
    out.push(~0ul);                                            // orig_ax: no system call
    out.code(0x57, 0x56, 0x52, 0x51, 0x50);                    // push di si dx cx ax
    out.code(0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53);  // push r8 r9 r10 r11
    out.code(0x53, 0x55);                                      // push bx bp
    out.code(0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57);  // push r12 r13 r14 r15
    // `push %rsp` stored its own address + 8 = S - 24 with S the site's stack pointer.
    out.code(0x48, 0x81, 0x84, 0x24);  // addq $24, sp(%rsp)
    out.imm32(offset_of_sp);
    out.imm32(kFrameRecord + 8);
    out.code(0x48, 0x8d, 0xac, 0x24);  // lea record(%rsp), %rbp
    out.imm32(sizeof(Frame));
}

void restore_frame(Emitter& out) {
    out.code(0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c);  // pop r15 r14 r13 r12
    out.code(0x5d, 0x5b);                                      // pop bp bx
    out.code(0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58);  // pop r11 r10 r9 r8
    out.code(0x58, 0x59, 0x5a, 0x5e, 0x5f);                    // pop ax cx dx si di
    // lea, not add: from here on nothing may change flags.
    out.code(0x48, 0x8d, 0x64, 0x24, 24);                 // over orig_ax, ip, cs
    out.code(0x9d);                                       // popf
    out.code(0x48, 0x8d, 0x64, 0x24, 16 + kFrameRecord);  // over sp, ss, the record
}

void call_handler(const DetourConfig& config, Emitter& out) {
    out.code(0xfc);  // cld: the ABI's promise to the handler
    if (config.smap)
        out.code(0x0f, 0x01, 0xca);  // clac: the site may be within a user-access window
    out.code(0x48, 0x89, 0xe7);      // mov %rsp, %rdi
    out.code(0x48, 0xbe);            // movabs $argument, %rsi
    out.imm64(config.argument);
    out.call(config.handler);
}

/// Continue behind `insn` in the original text, unless its relocated form never falls through: a
/// relocated call returns to the original text by itself.
void jump_back(const Insn& insn, Emitter& out) {
    if (!insn.is_terminal() && !insn.is_call()) out.jump(insn.end());
}

/// The displaced instructions [first, last) of the region.
Refusal emit_displaced(const Region& region, u8 first, u8 last, Emitter& out) {
    Span<const u8> bytes{region.bytes, region.length};
    for (u8 i = 0; i < last; ++i) {
        if (i >= first)
            if (const Refusal refusal = relocate(region.insns[i], bytes, out)) return refusal;
        bytes = bytes.from(region.insns[i].length);
    }
    return {};
}

Refusal emit_first(const Plan& plan, Emitter& out) {
    if (const Refusal refusal = relocate(plan.first, {plan.first_bytes, plan.first.length}, out))
        return refusal;
    jump_back(plan.first, out);
    return {};
}

Refusal finish(const Plan& plan, const Emitter& out, DetourLayout& layout) {
    layout.size = static_cast<u16>(out.size());
    return out.ok() ? Refusal{} : Refusal{Reason::OUT_OF_REACH, plan.site};
}

}  // namespace

static_assert(offset_of_sp == 19 * 8 && offset_of_orig_ax == 15 * 8,
              "save_frame pushes the fields in this order");

Refusal emit_detour(const Plan& plan, const DetourConfig& config, u64 address, Span<u8> buffer,
                    DetourLayout& layout) {
    Emitter out(buffer, address);
    layout = DetourLayout{};
    if (const Refusal refusal = emit_displaced(plan.region, 0, plan.before, out)) return refusal;
    save_frame(plan, config, out);
    call_handler(config, out);
    restore_frame(out);
    layout.displaced = static_cast<u16>(out.size());
    if (const Refusal refusal = emit_displaced(plan.region, plan.before, plan.region.count, out))
        return refusal;
    jump_back(plan.region.last(), out);
    // With one displaced instruction the two copies would be the same.
    layout.out_of_line = layout.displaced;
    if (plan.region.count - plan.before > 1) {
        layout.out_of_line = static_cast<u16>(out.size());
        if (const Refusal refusal = emit_first(plan, out)) return refusal;
    }
    return finish(plan, out, layout);
}

Refusal emit_out_of_line(const Plan& plan, u64 address, Span<u8> buffer, DetourLayout& layout) {
    Emitter out(buffer, address);
    layout = DetourLayout{};
    if (const Refusal refusal = emit_first(plan, out)) return refusal;
    return finish(plan, out, layout);
}

}  // namespace djprobe::x86
