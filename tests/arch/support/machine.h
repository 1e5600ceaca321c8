// SPDX-License-Identifier: GPL-2.0
// Running a piece of code with every register under control.
#pragma once

#include <concepts>
#include <random>
#include <string>

#include "arch/x86/insn/effects.h"
#include "support/code.h"

namespace djprobe::test {

/// General registers in the order of their numbers, and the flags.
struct Machine {
    enum Register { AX, CX, DX, BX, SP, BP, SI, DI, R8, R9, R10, R11, R12, R13, R14, R15 };
    static constexpr size_t kRegisters = 16;

    u64 registers[kRegisters] = {};
    u64 flags = 0x202;

    u64& operator[](Register which) { return registers[which]; }
    u64 operator[](Register which) const { return registers[which]; }
    bool operator==(const Machine&) const = default;

    /// Any values; of the flags only those that programs may change without harm: no TF, no AC.
    static Machine random(std::mt19937_64& random);
};

/// Just these.
constexpr x86::RegisterSet set(std::same_as<Machine::Register> auto... registers) {
    return static_cast<x86::RegisterSet>((0u | ... | (1u << registers)));
}

enum Flag : u64 {
    kCarry = 1 << 0,
    kParity = 1 << 2,
    kAdjust = 1 << 4,
    kZero = 1 << 6,
    kSign = 1 << 7,
    kDirection = 1 << 10,
    kOverflow = 1 << 11,
};
inline constexpr u64 kArithmeticFlags = kCarry | kParity | kAdjust | kZero | kSign | kOverflow;

/// Register by register, where they differ: "r8 = 0x1 instead of 0x2".
std::string difference(const Machine& actual, const Machine& expected);

/// Load `machine` into the CPU, jump to `entry`, and take the registers back when the code jumps to
/// exit_address(). One thread at a time.
void run(Machine& machine, u64 entry);
u64 exit_address();

/// Code was written through another address: the CPU must drop what it fetched before.
void serialize();

/// What SIGSEGV, SIGILL, SIGBUS and SIGTRAP print before the process dies: how to reproduce it.
void set_crash_note(const std::string& note);

}  // namespace djprobe::test
