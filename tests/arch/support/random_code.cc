// SPDX-License-Identifier: GPL-2.0
#include "support/random_code.h"

#include <algorithm>
#include <random>

namespace djprobe::test {
namespace {

// Bases hold pointers to the data, an index a small number: the instructions leave them alone.
constexpr u8 kBases[] = {Machine::BX, Machine::BP, Machine::R12, Machine::R13};
constexpr u8 kIndex = Machine::R14;
constexpr u8 kCalleeRegister = Machine::R15;
constexpr u8 kFree[] = {Machine::AX, Machine::CX, Machine::DX,  Machine::SI, Machine::DI,
                        Machine::R8, Machine::R9, Machine::R10, Machine::R11};
constexpr u64 kMiddle = 0x600;  // of the data that instructions touch
constexpr u64 kMark = 0xe00;
constexpr u32 kPads = 3;
constexpr size_t kJump = 5;
constexpr size_t kBoardRoom = 8;

/// The r/m operand of an instruction.
struct Operand {
    enum Form { Register, Rip, Stack, Base8, Base32, Index, kForms } form;
    u8 number;  ///< of the register or the base
    u8 scale;

    bool rex_x() const { return form == Index && kIndex > 7; }
    bool rex_b() const { return form != Rip && form != Stack && number > 7; }
};

struct Opcode {
    Bytes bytes;
    int reg = -1;          ///< opcode extension; -1: any register
    size_t immediate = 0;  ///< in bytes; with 16-bit operands 2 instead of 4
    enum Size { Any, Byte, NotWord } size = Any;
    enum Operands { All, MemoryOnly, Lockable } operands = All;
};

/// Writes one function, instruction by instruction.
class Writer {
  public:
    Writer(u64 text, std::mt19937_64& random) : text_(text), random_(random) {}

    size_t size() const { return code_.size(); }
    Bytes take() { return std::move(code_); }

    /// Something that continues with its successor.
    void plain();
    /// A branch; true when nothing follows it. `room`: how many bytes the jump still lacks.
    bool branch(size_t room);
    void fill(size_t size) { code_.resize(std::max(code_.size(), size), x86::kInt3); }
    /// Where ways end: note which, leave.
    void pads(bool falls_through);
    /// A branch that no way leads to.
    void dead_jump(size_t target) {
        byte(0xe9);
        reference(target);
    }
    void leave() {
        byte(0xeb);
        to_pad(1);
    }
    void maybe_leave() {
        byte(0x70 | below(16));
        to_pad(1);
    }

  private:
    struct Branch {
        size_t field;
        size_t size;
        u64 pad;
    };

    u64 below(u64 limit) { return random_() % limit; }
    bool coin() { return below(2); }
    u8 free_register() { return kFree[below(std::size(kFree))]; }
    template <class T>
    const T& pick(std::initializer_list<T> all) {
        return all.begin()[below(all.size())];
    }

    void byte(u64 value) { code_.push_back(static_cast<u8>(value)); }
    void bytes(const Bytes& more) { code_.insert(code_.end(), more.begin(), more.end()); }
    void immediate(size_t size) {
        while (size--)
            byte(random_());
    }
    void reference(u64 offset, size_t trailing = 0);
    Operand operand(bool memory_only);
    void modrm(u8 reg, const Operand& operand, size_t trailing);
    void instruction(const Opcode& opcode);
    void vex();
    void accumulate();
    void one_register();
    void push_pop();
    void to_pad(size_t size);
    void pad(u32 mark);

    u64 text_;
    std::mt19937_64& random_;
    Bytes code_;
    std::vector<Branch> branches_;
    bool stack_dirty_ = false;  ///< the top is no longer the exit's address
};

/// A displacement to an offset of the arena.
void Writer::reference(u64 offset, size_t trailing) {
    const u32 displacement = static_cast<u32>(offset - (size() + 4 + trailing));
    for (int shift = 0; shift < 32; shift += 8)
        byte(displacement >> shift);
}

Operand Writer::operand(bool memory_only) {
    // Registers are half of all operands, as in real code.
    const bool memory = memory_only || coin();
    const auto form = static_cast<Operand::Form>(memory ? 1 + below(Operand::kForms - 1) : 0);
    stack_dirty_ |= form == Operand::Stack;
    const u8 number =
        form == Operand::Register ? free_register() : kBases[below(std::size(kBases))];
    return {form, number, static_cast<u8>(below(4))};
}

void Writer::modrm(u8 reg, const Operand& operand, size_t trailing) {
    const auto put = [&](u64 mod, u64 rm) { byte(mod << 6 | (reg & 7u) << 3 | (rm & 7)); };
    const bool sib = operand.form == Operand::Index || operand.form == Operand::Stack ||
                     (operand.number & 7) == 4;
    switch (operand.form) {
        case Operand::Register:
            return put(3, operand.number);
        case Operand::Rip:
            put(0, 5);
            return reference(Arena::kData + kMiddle - 0x200 + below(0x400), trailing);
        case Operand::Stack:
            put(1, 4);
            byte(0x24);
            return byte(below(128));
        case Operand::Base32:
            put(2, sib ? 4 : operand.number);
            if (sib) byte(0x20 | (operand.number & 7));
            immediate(1);
            return bytes({0x01, 0, 0});
        default:
            put(1, sib ? 4 : operand.number);
            if (operand.form == Operand::Index)
                byte(operand.scale << 6 | (kIndex & 7) << 3 | (operand.number & 7));
            else if (sib)
                byte(0x20 | (operand.number & 7));
            return immediate(1);
    }
}

void Writer::instruction(const Opcode& opcode) {
    const Operand target = operand(opcode.operands == Opcode::MemoryOnly);
    const u8 reg = opcode.reg < 0 ? free_register() : static_cast<u8>(opcode.reg);
    const bool word = opcode.size == Opcode::Any && below(4) == 0;
    const bool quad = opcode.size != Opcode::Byte && !word && coin();
    if (opcode.operands == Opcode::Lockable && target.form != Operand::Register && coin())
        byte(0xf0);
    if (word) byte(0x66);
    const u64 rex = quad << 3 | (reg > 7) << 2 | target.rex_x() << 1 | +target.rex_b();
    // Without a REX prefix some byte registers are the high halves of others.
    if (rex || opcode.size == Opcode::Byte || below(8) == 0) byte(0x40 | rex);
    bytes(opcode.bytes);
    const size_t immediate_size = opcode.immediate == 4 && word ? 2 : opcode.immediate;
    modrm(reg, target, immediate_size);
    immediate(immediate_size);
}

/// rorx (a RIP-relative VEX operand with an immediate behind it) or shlx.
void Writer::vex() {
    const Operand source = operand(false);
    const u8 reg = free_register();
    const bool rorx = coin();
    byte(0xc4);
    byte((reg <= 7) << 7 | !source.rex_x() << 6 | !source.rex_b() << 5 | (rorx ? 3 : 2));
    byte(coin() << 7 | (rorx ? 0x0f : ~below(16) & 0x0f) << 3 | (rorx ? 3 : 1));
    byte(rorx ? 0xf0 : 0xf7);
    modrm(reg, source, rorx);
    immediate(rorx);
}

/// One-byte and two-byte forms without operand.
void Writer::accumulate() {
    static const std::initializer_list<Bytes> kForms = {
        {0xf5},
        {0xf8},
        {0xf9},
        {0xfc},
        {0xfd},  // cmc clc stc cld std
        {0x9e},
        {0x9f},
        {0x98},
        {0x48, 0x98},
        {0x99},  // sahf lahf cwde cdqe cdq
        {0x48, 0x99},
        {0x90},
        {0x66, 0x90},
        {0x0f, 0x1f, 0x00},  // cqo nops
        {0x0f, 0x1f, 0x44, 0, 0},
        {0x41, 0x90},
        {0xf3, 0x90},                                // nop, xchg, pause
        {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0},  // mov rax, fs:[0]
    };
    bytes(pick(kForms));
}

void Writer::one_register() {
    const u8 reg = free_register();
    const u8 rex = static_cast<u8>(0x48 | (reg > 7));
    switch (below(3)) {
        case 0:  // movabs
            byte(rex);
            byte(0xb8 | (reg & 7));
            return immediate(8);
        case 1:  // mov r32, imm32
            byte(rex & ~8);
            byte(0xb8 | (reg & 7));
            return immediate(4);
        default:  // bswap
            return bytes({rex, 0x0f, static_cast<u8>(0xc8 | (reg & 7))});
    }
}

void Writer::push_pop() {
    const u8 reg = free_register();
    switch (below(5)) {
        case 0:
            if (reg > 7) byte(0x41);
            return byte(0x58 | (reg & 7));
        case 1:
            byte(0x9c);  // pushf
            break;
        case 2:
            byte(0x68);
            immediate(4);
            break;
        case 3:
            if (coin()) {
                byte(0x54);  // push rsp
                break;
            }
            [[fallthrough]];
        default:
            if (reg > 7) byte(0x41);
            byte(0x50 | (reg & 7));
    }
    stack_dirty_ = true;
}

void Writer::plain() {
    const auto condition = [&](u64 base) { return static_cast<u8>(base | below(16)); };
    const auto alu = [&](u64 form) { return static_cast<u8>(below(8) << 3 | form); };
    const auto shift = [&] { return static_cast<int>(pick({0, 1, 2, 3, 4, 5, 7})); };
    const auto any = [&] { return static_cast<int>(below(8)); };
    static const bool bmi2 = __builtin_cpu_supports("bmi2");
    // cmp has no locked form, hence the arithmetic that is locked is picked without it.
    const auto lockable_alu = [&](u64 form) { return static_cast<u8>(below(7) << 3 | form); };
    switch (below(26)) {
        case 0:
            return instruction({{alu(1)}});
        case 1:
            return instruction({{alu(3)}});
        case 2:
            return instruction({{alu(0)}, -1, 0, Opcode::Byte});
        case 3:
            return instruction({{lockable_alu(1)}, -1, 0, Opcode::Any, Opcode::Lockable});
        case 4:
            return instruction({{0x81}, any(), 4});
        case 5:
            return instruction({{0x83}, any(), 1});
        case 6:
            return instruction({{0x80}, any(), 1, Opcode::Byte});
        case 7:
            return instruction({{pick<u8>({0x89, 0x8b, 0x85, 0x87})}});
        case 8:
            return instruction({{pick<u8>({0x88, 0x8a, 0x84, 0x86})}, -1, 0, Opcode::Byte});
        case 9:
            return instruction({{0xc7}, 0, 4});
        case 10:
            return instruction({{0x8d}, -1, 0, Opcode::Any, Opcode::MemoryOnly});
        case 11:
            return instruction({{0xf7}, 0, 4});
        case 12:
            return instruction({{0xf7}, 2 + static_cast<int>(below(4))});
        case 13:
            return instruction({{0xc1}, shift(), 1});
        case 14:
            return instruction({{pick<u8>({0xd1, 0xd3})}, shift()});
        case 15:
            return instruction({{0x0f, condition(0x90)}, 0, 0, Opcode::Byte});
        case 16:
            return instruction({{0x0f, condition(0x40)}});
        case 17:
            return instruction(
                {{0x0f, pick<u8>({0xb6, 0xb7, 0xbe, 0xbf})}, -1, 0, Opcode::NotWord});
        case 18:
            return instruction({{0x63}, -1, 0, Opcode::NotWord});
        case 19:
            return instruction({{0x0f, 0xba}, 4 + static_cast<int>(below(4)), 1});
        case 20:
            return instruction(
                {{0x0f, pick<u8>({0xb1, 0xc1})}, -1, 0, Opcode::Any, Opcode::Lockable});
        case 21:
            return instruction({{0x69}, -1, 4});
        case 22:
            return bmi2 ? vex() : accumulate();
        case 23:
            return push_pop();
        case 24:
            return one_register();
        default:
            return accumulate();
    }
}

void Writer::to_pad(size_t size) {
    branches_.push_back({code_.size(), size, below(kPads)});
    bytes(Bytes(size, 0));
}

bool Writer::branch(size_t room) {
    switch (below(8)) {
        case 0:  // jcc
            byte(0x70 | below(16));
            to_pad(1);
            return false;
        case 1:
            byte(0x0f);
            byte(0x80 | below(16));
            to_pad(4);
            return false;
        case 2:  // loopne, loope, loop, jrcxz, with a 32-bit counter too
            if (coin()) byte(0x67);
            byte(0xe0 | below(4));
            to_pad(1);
            return false;
        case 3:
            byte(0xeb);
            to_pad(1);
            return true;
        case 4:
            byte(0xe9);
            to_pad(4);
            return true;
        case 5:
            if (stack_dirty_) break;
            byte(0xc3);
            return true;
        case 6:
            byte(0xe8);
            reference(Arena::kCallee);
            return false;
        default:
            if (room <= 3) {
                bytes({0x41, 0xff, 0xd0 | (kCalleeRegister & 7)});
            } else {
                bytes({0xff, 0x15});
                reference(Arena::kData + Bench::kCalleePointer);
            }
            return false;
    }
    plain();
    return false;
}

void Writer::pad(u32 mark) {
    bytes({0xc7, 0x05});
    reference(Arena::kData + kMark, 4);
    bytes({static_cast<u8>(mark), 0, 0, 0, 0xe9});
    reference(Arena::kExit);
}

void Writer::pads(bool falls_through) {
    if (falls_through) pad(1);
    size_t starts[kPads];
    for (u32 i = 0; i < kPads; ++i) {
        starts[i] = size();
        pad(2 + i);
    }
    for (const Branch& branch : branches_) {
        const u32 distance = static_cast<u32>(starts[branch.pad] - (branch.field + branch.size));
        for (size_t i = 0; i < branch.size; ++i)
            code_[branch.field + i] = static_cast<u8>(distance >> 8 * i);
    }
}

}  // namespace

RandomFunction RandomCode::function() {
    Writer writer(bench_.text(), random_);
    for (u64 lead = random_() % 3; lead; --lead)
        writer.plain();
    const size_t site = writer.size();
    const size_t end = site + kJump;
    bool ends = false;
    while (!ends && writer.size() < end) {
        if (random_() % 4)
            writer.plain();
        else
            ends = writer.branch(end - writer.size());
    }
    writer.fill(end);
    writer.pads(!ends);
    return {writer.take(), site};
}

RandomFunction RandomCode::cramped_function() {
    Writer writer(bench_.text(), random_);
    for (u64 lead = random_() % 4; lead; --lead) {
        if (random_() % 4)
            writer.plain();
        else
            writer.maybe_leave();
    }
    const size_t site = writer.size();
    // Sometimes the site itself is what leaves.
    if (random_() % 4) writer.plain();
    const size_t behind = writer.size();
    if (behind > site && random_() % 3 == 0) writer.plain();
    writer.leave();
    writer.pads(false);
    if (random_() % 2) writer.dead_jump(site);
    if (behind > site && random_() % 2) writer.dead_jump(behind);
    writer.fill(writer.size() + kBoardRoom);
    return {writer.take(), site};
}

Machine RandomCode::start() {
    Machine machine = bench_.start();
    u64 pointer = bench_.arena().data() + kMiddle;
    for (const u8 base : kBases)
        machine.registers[base] = pointer += 8;
    machine.registers[kIndex] = random_() % 16;
    machine.registers[kCalleeRegister] = bench_.text() + Arena::kCallee;
    if (random_() % 2) machine[Machine::CX] = random_() % 3;  // both ways of the counter jumps
    return machine;
}

}  // namespace djprobe::test
