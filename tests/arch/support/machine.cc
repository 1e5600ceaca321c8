// SPDX-License-Identifier: GPL-2.0
#include "support/machine.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>

extern "C" {
void djprobe_test_enter(djprobe::test::Machine* machine, djprobe::u64 entry);
extern const char djprobe_test_exit[];
}

// Memory operands of this file's own are RIP-relative, so that no register is needed for them.
asm(R"(
.intel_syntax noprefix
.pushsection .bss
.balign 8
host_stack: .skip 8
machine: .skip 8
entry: .skip 8
saved_ax: .skip 8
.popsection
.pushsection .text
.globl djprobe_test_enter, djprobe_test_exit
.type djprobe_test_enter, @function
djprobe_test_enter:
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    mov [rip + host_stack], rsp
    mov [rip + machine], rdi
    mov [rip + entry], rsi
    mov rsp, [rdi + 4*8]
    push qword ptr [rdi + 16*8]
    popfq
    mov rax, [rdi + 0*8]
    mov rcx, [rdi + 1*8]
    mov rdx, [rdi + 2*8]
    mov rbx, [rdi + 3*8]
    mov rbp, [rdi + 5*8]
    mov rsi, [rdi + 6*8]
    mov r8, [rdi + 8*8]
    mov r9, [rdi + 9*8]
    mov r10, [rdi + 10*8]
    mov r11, [rdi + 11*8]
    mov r12, [rdi + 12*8]
    mov r13, [rdi + 13*8]
    mov r14, [rdi + 14*8]
    mov r15, [rdi + 15*8]
    mov rdi, [rdi + 7*8]
    jmp [rip + entry]
djprobe_test_exit:
    mov [rip + saved_ax], rax
    mov rax, [rip + machine]
    mov [rax + 1*8], rcx
    mov [rax + 2*8], rdx
    mov [rax + 3*8], rbx
    mov [rax + 4*8], rsp
    mov [rax + 5*8], rbp
    mov [rax + 6*8], rsi
    mov [rax + 7*8], rdi
    mov [rax + 8*8], r8
    mov [rax + 9*8], r9
    mov [rax + 10*8], r10
    mov [rax + 11*8], r11
    mov [rax + 12*8], r12
    mov [rax + 13*8], r13
    mov [rax + 14*8], r14
    mov [rax + 15*8], r15
    mov rcx, [rip + saved_ax]
    mov [rax + 0*8], rcx
    mov rsp, [rip + host_stack]
    pushfq
    pop qword ptr [rax + 16*8]
    cld
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret
.size djprobe_test_enter, . - djprobe_test_enter
.popsection
.att_syntax prefix
)");

namespace djprobe::test {
namespace {

constexpr size_t kNoteSize = 256;
char crash_note[kNoteSize];

void die_with_note(int signal) {
    // Only calls that are safe in a signal handler; the process ends either way.
    if (write(STDERR_FILENO, crash_note, strnlen(crash_note, kNoteSize)) < 0) _exit(128 + signal);
    ::signal(signal, SIG_DFL);
    raise(signal);
}

}  // namespace

Machine Machine::random(std::mt19937_64& random) {
    Machine machine;
    for (u64& value : machine.registers)
        value = random();
    machine.flags |= random() & (kArithmeticFlags | kDirection);
    return machine;
}

std::string difference(const Machine& actual, const Machine& expected) {
    static constexpr const char* kNames[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                             "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                             "r12", "r13", "r14", "r15"};
    std::ostringstream text;
    const auto add = [&](const char* name, u64 is, u64 should) {
        if (is != should)
            text << name << std::hex << " = 0x" << is << " instead of 0x" << should << "\n";
    };
    for (size_t i = 0; i < Machine::kRegisters; ++i)
        add(kNames[i], actual.registers[i], expected.registers[i]);
    add("flags", actual.flags, expected.flags);
    return text.str();
}

void serialize() {
    unsigned a = 0, b, c = 0, d;
    asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d)::"memory");
}

void run(Machine& machine, u64 entry) {
    serialize();
    djprobe_test_enter(&machine, entry);
}

u64 exit_address() {
    return reinterpret_cast<u64>(djprobe_test_exit);
}

void set_crash_note(const std::string& note) {
    static const bool installed = [] {
        for (const int which : {SIGSEGV, SIGILL, SIGBUS, SIGTRAP})
            ::signal(which, die_with_note);
        return true;
    }();
    static_cast<void>(installed);
    const size_t length = std::min(note.size(), kNoteSize - 2);
    std::memcpy(crash_note, note.data(), length);
    std::memcpy(crash_note + length, "\n", 2);
}

}  // namespace djprobe::test
