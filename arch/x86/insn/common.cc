// SPDX-License-Identifier: GPL-2.0
#include "common.h"

namespace djprobe::x86 {
namespace {

constexpr u8 kGs = 0x65, kOperandSize = 0x66, kCs = 0x2e, kEscape = 0x0f;

/// With the longest nop behind them they are 15 bytes.
constexpr size_t kMostPadding = 7;

/// What follows an opcode. 0: not one of the common forms.
enum Form : u16 {
    kAlone = 1,        ///< nothing need follow
    kModrm = 2,        ///< a ModRM byte, with SIB and displacement
    kImm8 = 4,         ///< then an immediate
    kImm32 = 8,        ///< of 4 bytes, sign-extended to 64 bits with REX.W; of 2 in 16 bits
    kRel8 = 16,        ///< a branch's displacement
    kRel32 = 32,       ///< the same
    kReg0 = 64,        ///< only with ModRM.reg 0: other values are other instructions
    kPlainOnly = 128,  ///< only without a prefix
    kUnary = 256,      ///< with other values of ModRM.reg there is no immediate
    kCalls = 512       ///< with some values of ModRM.reg it calls, jumps or pushes
};

struct Opcode {
    u16 form = 0;
    Kind kind = Kind::Plain;
};

struct Forms {
    Opcode of[256] = {};

    constexpr void set(unsigned int first, unsigned int last, unsigned int form,
                       Kind kind = Kind::Plain) {
        for (unsigned int opcode = first; opcode <= last; ++opcode)
            of[opcode] = {static_cast<u16>(form), kind};
    }
};

constexpr Forms one_byte_forms() {
    Forms forms;
    // add, or, adc, sbb, and, sub, xor, cmp: six forms each
    for (unsigned int row = 0; row < 0x40; row += 8) {
        forms.set(row, row + 3, kModrm);
        forms.set(row + 4, row + 4, kImm8);
        forms.set(row + 5, row + 5, kImm32);
    }
    forms.set(0x50, 0x5f, kAlone);                              // push, pop
    forms.set(0x63, 0x63, kModrm);                              // movslq
    forms.set(0x68, 0x68, kImm32 | kPlainOnly);                 // push
    forms.set(0x69, 0x69, kModrm | kImm32);                     // imul
    forms.set(0x6a, 0x6a, kImm8 | kPlainOnly);                  // push
    forms.set(0x6b, 0x6b, kModrm | kImm8);                      // imul
    forms.set(0x70, 0x7f, kRel8 | kPlainOnly, Kind::CondJump);  // jcc
    forms.set(0x80, 0x80, kModrm | kImm8);                      // add, ..., cmp
    forms.set(0x81, 0x81, kModrm | kImm32);                     // the same
    forms.set(0x83, 0x83, kModrm | kImm8);                      // the same
    forms.set(0x84, 0x8b, kModrm);                              // test, xchg, mov
    forms.set(0x8d, 0x8d, kModrm);                              // lea
    forms.set(0x90, 0x90, kAlone | kPlainOnly, Kind::Nop);      // nop
    forms.set(0x98, 0x99, kAlone);                              // cltq, cqto
    forms.set(0xa8, 0xa8, kImm8);                               // test
    forms.set(0xa9, 0xa9, kImm32);                              // test
    forms.set(0xb0, 0xb7, kImm8);                               // mov
    forms.set(0xb8, 0xbf, kImm32);                              // mov; 8 bytes with REX.W
    forms.set(0xc0, 0xc1, kModrm | kImm8);                      // rol, ..., sar
    forms.set(0xc3, 0xc3, kAlone | kPlainOnly, Kind::Return);   // ret
    forms.set(0xc6, 0xc6, kModrm | kImm8 | kReg0);              // mov
    forms.set(0xc7, 0xc7, kModrm | kImm32 | kReg0);             // mov
    forms.set(0xc9, 0xc9, kAlone | kPlainOnly);                 // leave
    forms.set(0xcc, 0xcc, kAlone | kPlainOnly, Kind::Int3);     // int3
    forms.set(0xd0, 0xd3, kModrm);                              // rol, ..., sar
    forms.set(0xe8, 0xe8, kRel32 | kPlainOnly, Kind::Call);
    forms.set(0xe9, 0xe9, kRel32 | kPlainOnly, Kind::Jump);
    forms.set(0xeb, 0xeb, kRel8 | kPlainOnly, Kind::Jump);  // jmp
    forms.set(0xf6, 0xf6, kModrm | kImm8 | kUnary);         // test; not, neg, mul, div
    forms.set(0xf7, 0xf7, kModrm | kImm32 | kUnary);        // the same
    forms.set(0xfe, 0xfe, kModrm | kReg0);                  // inc
    forms.set(0xff, 0xff, kModrm | kCalls);                 // inc, dec; call, jmp, push
    return forms;
}

/// Behind 0f.
constexpr Forms two_byte_forms() {
    Forms forms;
    forms.set(0x0b, 0x0b, kAlone | kPlainOnly, Kind::Trap);         // ud2
    forms.set(0x1f, 0x1f, kModrm | kReg0 | kPlainOnly, Kind::Nop);  // nop
    forms.set(0x40, 0x4f, kModrm);                                  // cmovcc
    forms.set(0x80, 0x8f, kRel32 | kPlainOnly, Kind::CondJump);     // jcc
    forms.set(0x90, 0x9f, kModrm | kReg0);                          // setcc
    forms.set(0xa3, 0xa3, kModrm);                                  // bt
    forms.set(0xab, 0xab, kModrm);                                  // bts
    forms.set(0xaf, 0xaf, kModrm);                                  // imul
    forms.set(0xb3, 0xb3, kModrm);                                  // btr
    forms.set(0xb6, 0xb7, kModrm);                                  // movz
    forms.set(0xb9, 0xb9, kModrm | kPlainOnly, Kind::Trap);         // ud1
    forms.set(0xbb, 0xbb, kModrm);                                  // btc
    forms.set(0xbe, 0xbf, kModrm);                                  // movs
    return forms;
}

constexpr Forms kOneByte = one_byte_forms(), kTwoBytes = two_byte_forms();

/// What a ModRM byte brings along.
struct Modrm {
    u8 displacement = 0;  ///< its bytes, without those that a SIB byte may ask for
    bool sib = false;
    bool rip = false;  ///< the displacement is from the instruction's end
};

struct Modrms {
    Modrm of[256] = {};

    constexpr Modrms() {
        for (unsigned int modrm = 0; modrm < 256; ++modrm) {
            const unsigned int mod = modrm >> 6, rm = modrm & 7;
            const bool rip = mod == 0 && rm == 5;
            of[modrm] = {static_cast<u8>(mod == 1          ? 1
                                         : mod == 2 || rip ? 4
                                                           : 0),
                         mod != 3 && rm == 4, rip};
        }
    }
};
constexpr Modrms kModrms;

/// The decoder looks no farther ahead than at these bytes, wherever they end.
constexpr size_t kAhead = 16;

template <class T>
i64 read_at(const u8* bytes, size_t at) {
    T value;
    __builtin_memcpy(&value, bytes + at, sizeof value);
    return value;
}

class Decoder {
  public:
    /// `bytes` are kAhead ones.
    Decoder(const u8* bytes, Insn& out) : bytes_(bytes), out_(out) {}

    // Always inline, like the others: otherwise all that they know lies in memory.
    [[gnu::always_inline]] bool run(size_t size) {
        if (bytes_[0] == kOperandSize || bytes_[0] == kCs)
            take_padding();
        else if (bytes_[0] == kGs)
            prefixed_ = true, ++at_;
        if (bytes_[at_] >> 4 == 4) rex_ = bytes_[at_++], prefixed_ = true;
        opcode_ = bytes_[at_++];
        escaped_ = opcode_ == kEscape;
        if (escaped_) opcode_ = bytes_[at_++];
        const Opcode& known = (escaped_ ? kTwoBytes : kOneByte).of[opcode_];
        form_ = known.form;
        if (known.kind == Kind::Trap && may_be_emulated()) return false;
        if (!form_ || (form_ & kPlainOnly && prefixed_)) return false;
        if (form_ & kModrm && !take_modrm()) return false;
        const size_t constant = at_, constant_length = constant_size();
        at_ += constant_length;
        if (at_ > size) return false;
        out_.length = static_cast<u8>(at_);
        out_.kind = form_ & kCalls ? kind_ : known.kind;
        note_constant(constant, constant_length);
        return true;
    }

  private:
    bool is(u8 opcode) const { return !escaped_ && opcode_ == opcode; }
    bool is_shift() const {
        return !escaped_ && (opcode_ >> 1 == 0xc0 >> 1 || opcode_ >> 2 == 0xd0 >> 2);
    }
    bool wide() const { return rex_ & 8; }

    /// The prefixes that only make a nop longer, or one that asks for 16 bits.
    [[gnu::always_inline]] void take_padding() {
        size_t at = 0;
        while (at < kMostPadding && (bytes_[at] == kOperandSize || bytes_[at] == kCs))
            ++at;
        const bool nop = bytes_[at] == 0x90 || (bytes_[at] == kEscape && bytes_[at + 1] == 0x1f);
        if (nop)
            at_ = at;
        else if (bytes_[0] == kOperandSize)
            prefixed_ = short_ = true, at_ = 1;
    }

    /// With what follows, a ud2 may stand for another instruction: decode_any() knows.
    bool may_be_emulated() const { return bytes_[at_] == 'x' || bytes_[at_] == 'k'; }

    [[gnu::always_inline]] bool take_modrm() {
        out_.modrm_offset = static_cast<u8>(at_);
        const u8 modrm = bytes_[at_++];
        const u8 reg = modrm >> 3 & 7;
        if (form_ & kReg0 && reg) return false;
        if (form_ & kUnary && reg) {
            // Not of all CPUs' makers.
            if (reg == 1) return false;
            form_ = kModrm;
        }
        if (form_ & kCalls && !take_call(reg)) return false;
        // There is no such shift, and no lea of a register.
        if ((reg == 6 && is_shift()) || (modrm >= 0xc0 && is(0x8d))) return false;
        const Modrm& more = kModrms.of[modrm];
        u8 displacement = more.displacement;
        u8 base = modrm & 7;
        if (more.sib) {
            base = bytes_[at_++] & 7;
            if (base == 5 && modrm < 0x40) displacement = 4;
        }
        out_.stack_relative = (modrm & 7) == 4 && base == 4 && !(rex_ & 1);
        if (displacement == 4) displacement_ = static_cast<u8>(at_);
        if (more.rip) out_.rip_disp_offset = displacement_;
        at_ += displacement;
        return true;
    }

    /// The far ones lead elsewhere, and what a prefix does to a branch differs between CPUs.
    [[gnu::always_inline]] bool take_call(u8 reg) {
        if (reg < 2) return true;
        if (reg == 2) kind_ = Kind::IndirectCall;
        if (reg == 4) kind_ = Kind::IndirectJump;
        return (reg == 2 || reg == 4 || reg == 6) && at_ == 2u + (rex_ != 0);
    }

    size_t constant_size() const {
        if (form_ & (kImm8 | kRel8)) return 1;
        if (!(form_ & (kImm32 | kRel32))) return 0;
        if (short_ && !wide()) return 2;
        return wide() && !escaped_ && opcode_ >> 3 == 0xb8 >> 3 ? 8 : 4;
    }

    /// A branch's target, or a constant that may be an address of code: see Insn::taken.
    [[gnu::always_inline]] void note_constant(size_t at, size_t size) {
        if (form_ & (kRel8 | kRel32)) {
            out_.rel_offset = static_cast<u8>(at);
            out_.rel_size = static_cast<u8>(size);
            out_.target = out_.end() + static_cast<u64>(size == 1 ? read_at<i8>(bytes_, at)
                                                                  : read_at<i32>(bytes_, at));
        } else if (displacement_ && is(0x8d)) {
            out_.taken_offset = displacement_;
            out_.taken = (out_.rip_disp_offset ? out_.end() : 0) +
                         static_cast<u64>(read_at<i32>(bytes_, displacement_));
        } else if (size == 8 || (size == 4 && (wide() || is(0x68)))) {
            out_.taken_offset = static_cast<u8>(at);
            out_.taken =
                static_cast<u64>(size == 8 ? read_at<i64>(bytes_, at) : read_at<i32>(bytes_, at));
        }
    }

    const u8* bytes_;
    Insn& out_;
    size_t at_ = 0;
    u16 form_ = 0;
    u8 rex_ = 0, opcode_ = 0, displacement_ = 0;
    Kind kind_ = Kind::Plain;
    bool prefixed_ = false, escaped_ = false, short_ = false;
};

/// With it most functions begin.
bool is_endbr64(Span<const u8> bytes) {
    return bytes.size() >= 4 && bytes[0] == 0xf3 && bytes[1] == kEscape && bytes[2] == 0x1e &&
           bytes[3] == 0xfa;
}

/// The last bytes of some code. Not in decode_common(): there the room would cost each call.
[[gnu::noinline]] bool decode_at_end(Span<const u8> bytes, Insn& out) {
    // Behind the end there are zeros: run() looks at the length when it is done.
    u64 halves[kAhead / 8] = {};
    const size_t half = bytes.size() / 8 * 8;
    if (half) __builtin_memcpy(halves, bytes.data(), 8);
    for (size_t i = bytes.size(); i-- > half;)
        halves[half / 8] = halves[half / 8] << 8 | bytes[i];
    u8 ahead[kAhead];
    __builtin_memcpy(ahead, halves, sizeof ahead);
    return Decoder(ahead, out).run(bytes.size());
}

}  // namespace

bool decode_common(Span<const u8> bytes, u64 address, Insn& out) {
    out = Insn{};
    out.address = address;
    if (is_endbr64(bytes)) {
        out.kind = Kind::Endbr;
        out.length = 4;
        out.modrm_offset = 3;
        return true;
    }
    return bytes.size() < kAhead ? decode_at_end(bytes, out)
                                 : Decoder(bytes.data(), out).run(kAhead);
}

}  // namespace djprobe::x86
