// SPDX-License-Identifier: GPL-2.0
#include "context_use.h"

namespace djprobe::x86 {
namespace {

// Opcodes, as the kernel's uapi/linux/bpf.h defines them: class, and mode or operation.
enum Class : u8 { kLd, kLdx, kSt, kStx, kAlu, kJmp, kJmp32, kAlu64 };
enum Mode : u8 {
    kProbeMem = 0x20,  // loads through pointers of the kernel's that may fault
    kProbeMemSx = 0x40,
    kMem = 0x60,
    kMemSx = 0x80,
    kAtomic = 0xc0,
    kNoSpeculation = 0xc0,  // of class kSt: touches nothing
};
enum Operation : u8 { kMov = 0xb0, kEndian = 0xd0 };
enum Jump : u8 { kAlways = 0x00, kCall = 0x80, kExit = 0x90, kLastCondition = 0xd0 };
constexpr u8 kLoadImmediate64 = 0x18;
constexpr u8 kSourceRegister = 0x08;
constexpr u8 kCopy = u8{kAlu64} | u8{kMov} | kSourceRegister;
constexpr u8 kHelperCall = u8{kJmp} | u8{kCall};
constexpr u8 kExitInsn = u8{kJmp} | u8{kExit};
constexpr u8 kRegisters = 12;  // r0-r9, the frame pointer, and one that hides constants
constexpr int kContextSize = 168;
constexpr int kCheapestField = 15;  // orig_ax, a constant
constexpr size_t kMaxPasses = 64;

/// Registers that may hold the context: a bit for each.
using Held = u16;
constexpr Held bit(u8 reg) {
    return static_cast<Held>(1u << reg);
}
constexpr Held kScratch = 0x3f;    // r0-r5, gone behind a call
constexpr Held kArguments = 0x3e;  // r1-r5

// In a state, beside the registers: what there is to do.
constexpr ContextState kReached = 1 << 14;
constexpr ContextState kDue = 1 << 15;
constexpr ContextState kHeldPart = bit(kRegisters) - 1;

/// What is true of a program that cannot be analysed.
constexpr ContextUse kAnything = {.fields = (1u << kContextSize / 8) - 1,
                                  .escapes = true,
                                  .calls = true,
                                  .needs_run_context = true};

class Analysis {
  public:
    Analysis(Span<const BpfInsn> program, Span<ContextState> state, bool (*needs_context)(i32))
        : program_(program), state_(state), needs_context_(needs_context) {}

    ContextUse run() {
        for (size_t i = 0; i < program_.size(); ++i)
            state_[i] = 0;
        arrive(0, bit(1));
        // Each pass follows what is due. Few are needed: one, and one for each loop's way back.
        for (size_t passes = 0; again_ && known_; ++passes) {
            if (passes == kMaxPasses) give_up();
            again_ = false;
            for (size_t i = 0; i < program_.size() && known_; ++i) {
                if (!(state_[i] & kDue)) continue;
                state_[i] &= static_cast<ContextState>(~kDue);
                step(i, state_[i] & kHeldPart);
            }
        }
        if (!known_) return kAnything;
        if (use_.escapes) use_.fields = kAnything.fields;
        return use_;
    }

  private:
    /// Control may come to instruction `index` with the context in `held`.
    void arrive(i64 index, Held held) {
        if (index < 0 || static_cast<size_t>(index) >= program_.size()) return give_up();
        ContextState& state = state_[static_cast<size_t>(index)];
        const auto grown = static_cast<ContextState>(state | held | kReached);
        if (grown == state) return;
        state = grown | kDue;
        again_ = true;
    }

    /// The analysis does not know all that the instruction does.
    void give_up() { known_ = false; }

    /// The context goes where it is not followed.
    void escape_if(bool escapes) { use_.escapes |= escapes; }

    void step(size_t index, Held held) {
        const BpfInsn& insn = program_[index];
        if (insn.dst >= kRegisters || insn.src >= kRegisters) return give_up();
        i64 next = static_cast<i64>(index) + 1;
        switch (insn.code & 7) {
            case kAlu:
            case kAlu64:
                held = compute(insn, held);
                break;
            case kLd:
                if (insn.code != kLoadImmediate64) return give_up();
                held = without(held, insn.dst);
                ++next;
                break;
            case kLdx:
                held = load(insn, held);
                break;
            case kSt:
                // The verifier, or the module, refuses programs that write to the context itself.
                if ((insn.code & 0xe0) != kNoSpeculation) escape_if(held & bit(insn.dst));
                break;
            case kStx:
                // What comes back from an atomic exchange is what memory held: never the context,
                // which has not been stored there.
                if ((insn.code & 0xe0) != kMem && (insn.code & 0xe0) != kAtomic) return give_up();
                escape_if(held & (bit(insn.src) | bit(insn.dst)));
                break;
            default:
                return jump(insn, next, held);
        }
        arrive(next, held);
    }

    static Held without(Held held, u8 reg) { return static_cast<Held>(held & ~bit(reg)); }

    Held compute(const BpfInsn& insn, Held held) {
        const u8 operation = insn.code & 0xf0;
        const bool source =
            insn.code & kSourceRegister && operation != kEndian && held & bit(insn.src);
        // A copy as a whole; those with an offset extend a sign.
        if (source && insn.code == kCopy && insn.off == 0)
            return static_cast<Held>(held | bit(insn.dst));
        if (operation == kMov && !source) return without(held, insn.dst);
        // An address within the context, or a part of it.
        escape_if(source || held & bit(insn.dst));
        return held;
    }

    Held load(const BpfInsn& insn, Held held) {
        constexpr int sizes[4] = {4, 2, 1, 8};
        const u8 mode = insn.code & 0xe0;
        const bool plain = mode == kMem || mode == kMemSx;
        if (!plain && mode != kProbeMem && mode != kProbeMemSx) give_up();
        if (held & bit(insn.src)) {
            const int begin = insn.off, end = begin + sizes[insn.code >> 3 & 3];
            if (!plain || begin < 0 || end > kContextSize) give_up();
            for (int field = begin / 8; known_ && field * 8 < end; ++field)
                use_.fields |= 1u << field;
        }
        return without(held, insn.dst);
    }

    void jump(const BpfInsn& insn, i64 next, Held held) {
        const u8 operation = insn.code & 0xf0;
        const bool narrow = (insn.code & 7) == kJmp32;
        // The long form of 'always' has its distance in the immediate.
        if (operation == kAlways)
            return arrive(next + (narrow ? i64{insn.imm} : i64{insn.off}), held);
        if (insn.code == kHelperCall) return call(insn, next, held);
        // The verifier knows the result to be a number.
        if (insn.code == kExitInsn) return;
        if (operation == kCall || operation == kExit || operation > kLastCondition)
            return give_up();  // a tail call among them
        // A comparison (with 0: kernels do not know the value to be a pointer) makes it one.
        if (held & bit(insn.dst) || (insn.code & kSourceRegister && held & bit(insn.src)))
            use_.fields |= 1u << kCheapestField;
        arrive(next + insn.off, held);
        arrive(next, held);
    }

    void call(const BpfInsn& insn, i64 next, Held held) {
        // A function of this program or of the kernel's: what it does is not seen here.
        if (insn.src != 0) return give_up();
        use_.calls = true;
        use_.needs_run_context |= needs_context_(insn.imm);
        escape_if(held & kArguments);
        arrive(next, static_cast<Held>(held & ~kScratch));
    }

    Span<const BpfInsn> program_;
    Span<ContextState> state_;
    bool (*needs_context_)(i32);
    ContextUse use_;
    bool again_ = false;
    bool known_ = true;
};

}  // namespace

ContextUse find_context_use(Span<const BpfInsn> program, Span<ContextState> state,
                            bool (*needs_context)(i32 imm)) {
    if (program.empty() || program.size() > kMaxContextInsns || state.size() < program.size())
        return kAnything;
    return Analysis(program, state, needs_context).run();
}

}  // namespace djprobe::x86
