// SPDX-License-Identifier: GPL-2.0
#include "support/bench.h"

#include <algorithm>
#include <cstring>

#include "arch/x86/detour/relocate.h"
#include "support/handler.h"
#include "support/printers.h"

namespace djprobe::test {
namespace {

void append(Bytes& bytes, u64 word) {
    for (int shift = 0; shift < 64; shift += 8)
        bytes.push_back(static_cast<u8>(word >> shift));
}

}  // namespace

testing::AssertionResult same(const Outcome& actual, const Outcome& expected) {
    auto failure = testing::AssertionFailure();
    if (actual == expected) return testing::AssertionSuccess();
    failure << difference(actual.machine, expected.machine);
    for (size_t i = 0; i < actual.data.size(); ++i)
        if (actual.data[i] != expected.data[i])
            return failure << "data differ from offset " << i << " on";
    if (actual.stack != expected.stack) failure << "stacks differ";
    return failure;
}

Bench::Bench(Arena::Place place, u64 seed) : arena_(place), random_(seed) {
    arena_.write(text() + Arena::kExit, long_jump(exit_address()));
    arena_.write(text() + Arena::kHandler, long_jump(handler_address()));

    // As at ARENA_CALLEE, 0x6100 behind the label 771: data are 0x1f00 ahead.
    arena_.write(text() + Arena::kCallee,
                 CODE("push r10; mov r10, [rsp + 8]; mov [rip + 771b + 0x1f00 + 0xf00], r10;"
                      "pop r10; add rax, 7; ret"));

    // At 0x6040: data are 0x1fc0 ahead, the exit 0x40 back. No flag may change.
    arena_.write(text() + kReached, CODE("mov qword ptr [rip + 771b + 0x1fc0 + 0xf20], 1;"
                                         "jmp 771b - 0x40"));

    while (initial_.size() < Arena::kDataSize)
        append(initial_, random_());
    while (initial_.size() < Arena::kDataSize + Arena::kStackSize)
        append(initial_, text() + Arena::kExit);
    const u64 callee = text() + Arena::kCallee;
    std::memcpy(&initial_[kCalleePointer], &callee, sizeof(callee));
}

Machine Bench::fix(Machine machine) const {
    machine[Machine::SP] = arena_.stack() + Arena::kStackSize / 2;
    machine[Machine::BX] = arena_.data();
    return machine;
}

x86::DetourConfig Bench::detour_config() const {
    return {.handler = text() + Arena::kHandler, .argument = kArgument, .cs = kCs, .ss = kSs};
}

Outcome Bench::run(Machine machine, u64 entry) {
    arena_.write(arena_.data(), initial_);
    test::run(machine, entry);
    const u8* data = reinterpret_cast<const u8*>(arena_.data());
    const u8* end = data + Arena::kDataSize + Arena::kStackSize;
    const u8* sp = reinterpret_cast<const u8*>(machine[Machine::SP]);
    Outcome outcome{machine, Bytes(data, data + Arena::kDataSize), {}};
    // Code that leaves the stack is wrong, but must be told as a difference.
    if (sp >= data + Arena::kDataSize && sp <= end) outcome.stack = Bytes(sp, end);
    return outcome;
}

void Bench::put(const Bytes& code) {
    Bytes padded = code;
    padded.resize(std::max(code.size() + 32, size_t{256}), x86::kInt3);
    arena_.write(text(), padded);
}

Refusal Bench::put_relocated(const Bytes& code) {
    x86::Insn insn;
    if (!x86::decode(view(code), text(), insn)) return Refusal{Reason::UNDECODABLE, text()};
    Bytes copy(64, x86::kInt3);
    x86::Emitter out({copy.data(), copy.size()}, arena_.slot());
    const Refusal refusal = x86::relocate(insn, view(code), out);
    if (!insn.is_terminal() && !insn.is_call()) out.jump(insn.end());
    arena_.write(arena_.slot(), copy);
    return refusal;
}

Machine Bench::expect_relocated_same(const Bytes& code, const Machine& machine) {
    put(code);
    const Outcome original = run(machine, text());
    EXPECT_EQ(put_relocated(code), Refusal());
    EXPECT_TRUE(same(run(machine, arena_.slot()), original));
    return original.machine;
}

u64 Bench::word(const Outcome& outcome, size_t offset) {
    u64 value;
    std::memcpy(&value, &outcome.data[offset], sizeof(value));
    return value;
}

}  // namespace djprobe::test
