// SPDX-License-Identifier: GPL-2.0
#include "support/direct.h"

#include <asm/prctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <stdexcept>
#include <system_error>

#include "support/handler.h"

extern "C" {
extern const char djprobe_test_program[];
extern const char djprobe_test_slow[];
extern const char djprobe_test_resched[];
void djprobe_test_see(djprobe::u64 who, const djprobe::u64* registers, djprobe::u64 flags,
                      const djprobe::u64* record);
}

// Each notes the nine caller-saved registers and keeps them, as far as it must. The stack is as the
// site left it: not aligned.
asm(R"(
.intel_syntax noprefix
.pushsection .text
.macro djprobe_test_note who
    pushfq
    push rax
    push rcx
    push rdx
    push rsi
    push rdi
    push r8
    push r9
    push r10
    push r11
    mov edi, \who
    mov rsi, rsp
    mov rdx, [rsp + 72]
    mov rcx, rbp
    push rbp
    mov rbp, rsp
    and rsp, -16
    cld
    call djprobe_test_see
    leave
    pop r11
    pop r10
    pop r9
    pop r8
    pop rdi
    pop rsi
    pop rdx
    pop rcx
    pop rax
    lea rsp, [rsp + 8]
.endm
.globl djprobe_test_program, djprobe_test_slow, djprobe_test_resched
djprobe_test_program:
    djprobe_test_note 0
    ret
djprobe_test_slow:
    djprobe_test_note 1
    movabs rax, 0xdeadbeefdeadbeef
    neg rax
    ret
djprobe_test_resched:
    djprobe_test_note 2
    neg byte ptr [rsp - 8]
    ret
.popsection
.att_syntax prefix
)");

namespace {

using djprobe::u64;

djprobe::test::PerCpu per_cpu_data;
djprobe::test::Seen seen[3];

}  // namespace

// Neither the program nor the others may use vector registers, which the detour does not save.
[[gnu::target("general-regs-only")]] void djprobe_test_see(u64 who, const u64* registers, u64 flags,
                                                           const u64* record) {
    djprobe::test::Seen& one = seen[who];
    ++one.count;
    one.context = registers[4];
    // The slow function gets it in rax, a function that takes one in rsi.
    one.argument = registers[who == 1 ? 8 : 5];
    const u64 stack = reinterpret_cast<u64>(registers);
    // Above the registers, not far away: nothing else is a frame.
    if (one.context > stack && one.context < stack + 0x400)
        one.frame = *reinterpret_cast<const djprobe::x86::Frame*>(one.context);
    one.flags = flags;
    one.per_cpu = per_cpu_data;
    one.record_address = reinterpret_cast<u64>(record);
    if (one.record_address < stack || one.record_address > stack + 0x400) return;
    one.saved_bp = record[0];
    one.return_address = record[1];
}

namespace djprobe::test {
namespace {

constexpr u64 kProgram = 0x6300, kProgramThunk = 0x6400, kSlow = 0x6440, kResched = 0x6480;
constexpr u64 kStats = 0x64c0;

Bytes jump_to(const char* target) {
    return long_jump(reinterpret_cast<u64>(target));
}

void set_gs(u64 base) {
    if (syscall(SYS_arch_prctl, ARCH_SET_GS, base))
        throw std::system_error(errno, std::generic_category(), "arch_prctl");
}

i32 offset_of(const void* field) {
    return static_cast<i32>(static_cast<const char*>(field) -
                            reinterpret_cast<const char*>(&per_cpu_data));
}

}  // namespace

size_t expect_kept(const Machine& start, const Machine& end, x86::RegisterSet live) {
    size_t changed = 0;
    for (u8 reg = 0; reg < Machine::kRegisters; ++reg) {
        const x86::RegisterSet bit = x86::register_bit(reg);
        if (live & bit || !(x86::kCallerSaved & bit)) {
            EXPECT_EQ(end.registers[reg], start.registers[reg]) << int{reg};
        }
        changed += end.registers[reg] != start.registers[reg];
    }
    return changed;
}

x86::Frame frame_of(const Machine& machine, u64 site) {
    using enum Machine::Register;
    x86::Frame frame = {};
    frame.ax = machine[AX], frame.cx = machine[CX], frame.dx = machine[DX];
    frame.bx = machine[BX], frame.sp = machine[SP], frame.bp = machine[BP];
    frame.si = machine[SI], frame.di = machine[DI], frame.r8 = machine[R8];
    frame.r9 = machine[R9], frame.r10 = machine[R10], frame.r11 = machine[R11];
    frame.r12 = machine[R12], frame.r13 = machine[R13], frame.r14 = machine[R14];
    frame.r15 = machine[R15];
    frame.orig_ax = ~0ul, frame.ip = site, frame.cs = kCs, frame.ss = kSs;
    frame.flags = machine.flags;
    return frame;
}

x86::FieldSet differences(const x86::Frame& a, const x86::Frame& b, x86::FieldSet fields) {
    x86::FieldSet found = 0;
    for (size_t i = 0; i < sizeof(x86::Frame) / 8; ++i)
        if (reinterpret_cast<const u64*>(&a)[i] != reinterpret_cast<const u64*>(&b)[i])
            found |= 1u << i;
    return found & fields;
}

PerCpuBase::PerCpuBase() {
    syscall(SYS_arch_prctl, ARCH_GET_GS, &old_gs_);
    set_gs(reinterpret_cast<u64>(&per_cpu_data));
}

PerCpuBase::~PerCpuBase() {
    // It has worked before.
    syscall(SYS_arch_prctl, ARCH_SET_GS, old_gs_);
}

void use_per_cpu(x86::DirectConfig& config) {
    config.active = offset_of(&per_cpu_data.active);
    config.mark = kMark;
    config.preempt_count = offset_of(&per_cpu_data.preempt_count);
    config.hits = offset_of(&per_cpu_data.hits);
}

void use_wide_count(x86::DirectConfig& config) {
    config.preempt_count = offset_of(&per_cpu_data.wide_preempt_count);
    config.wide_preempt_count = true;
}

DirectBench::DirectBench(Bench& bench) : bench_(bench) {
    const auto write = [&](u64 offset, const Bytes& code) {
        bench.arena().write(bench.text() + offset, code);
    };
    write(kProgramThunk, jump_to(djprobe_test_program));
    write(kSlow, jump_to(djprobe_test_slow));
    write(kResched, jump_to(djprobe_test_resched));
    set_stats(false);
    reset();
}

void DirectBench::put_program(x86::RegisterSet clobbers) {
    Bytes code(0x80);
    x86::Emitter out({code.data(), code.size()}, bench_.text() + kProgram);
    out.call(bench_.text() + kProgramThunk);
    for (u8 reg = 0; reg < 16; ++reg) {
        if (!(clobbers & x86::register_bit(reg))) continue;
        out.code(reg > 7 ? 0x49 : 0x48, 0xc7, 0xc0 | (reg & 7));
        out.imm32(0xdeadbee0u + reg);
    }
    // Every flag its opposite, as far as one instruction can.
    out.code(0x9c, 0x81, 0x34, 0x24);  // pushf; xorl $status flags, (%rsp)
    out.imm32(x86::kStatusFlags);
    out.code(0x9d, 0xc3);  // popf; ret
    bench_.arena().write(bench_.text() + kProgram, code);
}

x86::DirectConfig DirectBench::config(x86::RegisterSet clobbers, x86::FieldSet context) {
    put_program(clobbers);
    x86::DirectConfig config = {.program = bench_.text() + kProgram,
                                .clobbers = clobbers,
                                .context = context,
                                .slow = bench_.text() + kSlow,
                                .argument = kArgument,
                                .stats = bench_.text() + kStats,
                                .resched = bench_.text() + kResched,
                                .cs = kCs,
                                .ss = kSs};
    use_per_cpu(config);
    return config;
}

void DirectBench::move_hits_away(x86::DirectConfig& config) {
    // A mapping's address and a static object's differ by more than a displacement can hold.
    config.hits = reinterpret_cast<i64>(&far_hits()) - reinterpret_cast<i64>(&per_cpu_data);
    if (fits_i32(config.hits)) throw std::runtime_error("the far hits are near");
}

void DirectBench::set_stats(bool on) {
    bench_.arena().write(bench_.text() + kStats, Bytes{on, 0, 0, 0});
}

PerCpu& DirectBench::per_cpu() {
    return per_cpu_data;
}

u64& DirectBench::far_hits() {
    static u64* const hits = [] {
        void* const at =
            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
        return static_cast<u64*>(at);
    }();
    return *hits;
}

Seen& DirectBench::program() {
    return seen[0];
}
Seen& DirectBench::slow() {
    return seen[1];
}
Seen& DirectBench::resched() {
    return seen[2];
}

void DirectBench::reset() {
    for (Seen& one : seen)
        one = Seen{};
    per_cpu_data = PerCpu{};
    far_hits() = 0;
}

}  // namespace djprobe::test
