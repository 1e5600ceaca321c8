// SPDX-License-Identifier: GPL-2.0
#include "common.h"

namespace djprobe::x86 {
namespace {

constexpr u8 kGs = 0x65, kEscape = 0x0f;

/// What follows an opcode. 0: not one of the common forms.
enum Form : u8 {
    kAlone = 1,       ///< nothing need follow
    kModrm = 2,       ///< a ModRM byte, with SIB and displacement
    kImm8 = 4,        ///< then an immediate
    kImm32 = 8,       ///< of 4 bytes, sign-extended to 64 bits with REX.W
    kRel8 = 16,       ///< a branch's displacement
    kRel32 = 32,      ///< the same
    kReg0 = 64,       ///< only with ModRM.reg 0: other values are other instructions
    kPlainOnly = 128  ///< only without a prefix
};

struct Forms {
    u8 of[256] = {};

    constexpr void set(unsigned int first, unsigned int last, unsigned int form) {
        for (unsigned int opcode = first; opcode <= last; ++opcode)
            of[opcode] = static_cast<u8>(form);
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
    forms.set(0x50, 0x5f, kAlone);                   // push, pop
    forms.set(0x63, 0x63, kModrm);                   // movslq
    forms.set(0x68, 0x68, kImm32 | kPlainOnly);      // push
    forms.set(0x69, 0x69, kModrm | kImm32);          // imul
    forms.set(0x6a, 0x6a, kImm8 | kPlainOnly);       // push
    forms.set(0x6b, 0x6b, kModrm | kImm8);           // imul
    forms.set(0x70, 0x7f, kRel8 | kPlainOnly);       // jcc
    forms.set(0x80, 0x80, kModrm | kImm8);           // add, ..., cmp
    forms.set(0x81, 0x81, kModrm | kImm32);          // the same
    forms.set(0x83, 0x83, kModrm | kImm8);           // the same
    forms.set(0x84, 0x8b, kModrm);                   // test, xchg, mov
    forms.set(0x8d, 0x8d, kModrm);                   // lea
    forms.set(0x90, 0x90, kAlone | kPlainOnly);      // nop
    forms.set(0x98, 0x99, kAlone);                   // cltq, cqto
    forms.set(0xa8, 0xa8, kImm8);                    // test
    forms.set(0xa9, 0xa9, kImm32);                   // test
    forms.set(0xb0, 0xb7, kImm8);                    // mov
    forms.set(0xb8, 0xbf, kImm32);                   // mov; 8 bytes with REX.W
    forms.set(0xc0, 0xc1, kModrm | kImm8);           // rol, ..., sar
    forms.set(0xc3, 0xc3, kAlone | kPlainOnly);      // ret
    forms.set(0xc6, 0xc6, kModrm | kImm8 | kReg0);   // mov
    forms.set(0xc7, 0xc7, kModrm | kImm32 | kReg0);  // mov
    forms.set(0xc9, 0xc9, kAlone | kPlainOnly);      // leave
    forms.set(0xcc, 0xcc, kAlone | kPlainOnly);      // int3
    forms.set(0xd0, 0xd3, kModrm);                   // rol, ..., sar
    forms.set(0xe8, 0xe9, kRel32 | kPlainOnly);      // call, jmp
    forms.set(0xeb, 0xeb, kRel8 | kPlainOnly);       // jmp
    forms.set(0xf6, 0xf6, kModrm | kImm8 | kReg0);   // test
    forms.set(0xf7, 0xf7, kModrm | kImm32 | kReg0);  // test
    forms.set(0xfe, 0xfe, kModrm | kReg0);           // inc
    forms.set(0xff, 0xff, kModrm | kReg0);           // inc
    return forms;
}

/// Behind 0f.
constexpr Forms two_byte_forms() {
    Forms forms;
    forms.set(0x1f, 0x1f, kModrm | kReg0 | kPlainOnly);  // nop
    forms.set(0x40, 0x4f, kModrm);                       // cmovcc
    forms.set(0x80, 0x8f, kRel32 | kPlainOnly);          // jcc
    forms.set(0x90, 0x9f, kModrm | kReg0);               // setcc
    forms.set(0xa3, 0xa3, kModrm);                       // bt
    forms.set(0xab, 0xab, kModrm);                       // bts
    forms.set(0xaf, 0xaf, kModrm);                       // imul
    forms.set(0xb3, 0xb3, kModrm);                       // btr
    forms.set(0xb6, 0xb7, kModrm);                       // movz
    forms.set(0xbb, 0xbb, kModrm);                       // btc
    forms.set(0xbe, 0xbf, kModrm);                       // movs
    return forms;
}

constexpr Forms kOneByte = one_byte_forms(), kTwoBytes = two_byte_forms();

template <class T>
i64 read_at(Span<const u8> bytes, size_t at) {
    T value;
    __builtin_memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

class Decoder {
  public:
    Decoder(Span<const u8> bytes, Insn& out) : bytes_(bytes), out_(out) {}

    bool run() {
        if (peek() == kGs) prefixed_ = true, ++at_;
        if (peek() >> 4 == 4) rex_ = take(), prefixed_ = true;
        opcode_ = take();
        escaped_ = opcode_ == kEscape;
        if (escaped_) opcode_ = take();
        form_ = (escaped_ ? kTwoBytes : kOneByte).of[opcode_];
        if (!form_ || (form_ & kPlainOnly && prefixed_)) return false;
        if (form_ & kModrm && !take_modrm()) return false;
        const size_t constant = at_, size = constant_size();
        at_ += size;
        if (at_ > bytes_.size()) return false;
        out_.length = static_cast<u8>(at_);
        out_.kind = kind();
        note_constant(constant, size);
        return true;
    }

  private:
    // Behind the end there are zeros: run() looks at the length when it is done.
    u8 peek() const { return at_ < bytes_.size() ? bytes_[at_] : u8{0}; }
    u8 take() {
        const u8 byte = peek();
        ++at_;
        return byte;
    }
    bool is(u8 opcode) const { return !escaped_ && opcode_ == opcode; }
    bool is_shift() const {
        return is(0xc0) || is(0xc1) || (!escaped_ && opcode_ >> 2 == 0xd0 >> 2);
    }
    bool wide() const { return rex_ & 8; }

    bool take_modrm() {
        out_.modrm_offset = static_cast<u8>(at_);
        const u8 modrm = take();
        const u8 mod = modrm >> 6, reg = modrm >> 3 & 7, rm = modrm & 7;
        if (form_ & kReg0 && reg) return false;
        // There is no such shift, and no lea of a register.
        if ((is_shift() && reg == 6) || (is(0x8d) && mod == 3)) return false;
        const bool sib = mod != 3 && rm == 4;
        const u8 base = sib ? take() & 7 : rm;
        out_.stack_relative = rm == 4 && base == 4 && !(rex_ & 1);
        const bool far = mod == 2 || (mod == 0 && base == 5);
        if (far) displacement_ = static_cast<u8>(at_);
        if (far && mod == 0 && !sib) out_.rip_disp_offset = displacement_;
        at_ += far ? 4 : mod == 1 ? 1 : 0;
        return true;
    }

    size_t constant_size() const {
        if (!escaped_ && opcode_ >> 3 == 0xb8 >> 3 && wide()) return 8;
        return form_ & (kImm8 | kRel8) ? 1 : form_ & (kImm32 | kRel32) ? 4 : 0;
    }

    Kind kind() const {
        if (form_ & kRel32 && escaped_) return Kind::CondJump;
        if (escaped_) return opcode_ == 0x1f ? Kind::Nop : Kind::Plain;
        if (opcode_ >> 4 == 7) return Kind::CondJump;
        switch (opcode_) {
            case 0x90:
                return Kind::Nop;
            case 0xc3:
                return Kind::Return;
            case 0xcc:
                return Kind::Int3;
            case 0xe8:
                return Kind::Call;
            case 0xe9:
            case 0xeb:
                return Kind::Jump;
            default:
                return Kind::Plain;
        }
    }

    /// A branch's target, or a constant that may be an address of code: see Insn::taken.
    void note_constant(size_t at, size_t size) {
        if (form_ & (kRel8 | kRel32)) {
            out_.rel_offset = static_cast<u8>(at);
            out_.rel_size = static_cast<u8>(size);
            out_.target = out_.end() + static_cast<u64>(size == 1 ? read_at<i8>(bytes_, at)
                                                                  : read_at<i32>(bytes_, at));
        } else if (is(0x8d) && displacement_) {
            out_.taken_offset = displacement_;
            out_.taken = (out_.rip_disp_offset ? out_.end() : 0) +
                         static_cast<u64>(read_at<i32>(bytes_, displacement_));
        } else if (size == 8 || (size == 4 && (wide() || is(0x68)))) {
            out_.taken_offset = static_cast<u8>(at);
            out_.taken =
                static_cast<u64>(size == 8 ? read_at<i64>(bytes_, at) : read_at<i32>(bytes_, at));
        }
    }

    Span<const u8> bytes_;
    Insn& out_;
    size_t at_ = 0;
    u8 rex_ = 0, opcode_ = 0, form_ = 0, displacement_ = 0;
    bool prefixed_ = false, escaped_ = false;
};

/// With it most functions begin.
bool is_endbr64(Span<const u8> bytes) {
    return bytes.size() >= 4 && bytes[0] == 0xf3 && bytes[1] == kEscape && bytes[2] == 0x1e &&
           bytes[3] == 0xfa;
}

}  // namespace

bool decode_common(Span<const u8> bytes, u64 address, Insn& out) {
    out = Insn{};
    out.address = address;
    if (!is_endbr64(bytes)) return Decoder(bytes, out).run();
    out.kind = Kind::Endbr;
    out.length = 4;
    out.modrm_offset = 3;
    return true;
}

}  // namespace djprobe::x86
