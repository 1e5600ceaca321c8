// SPDX-License-Identifier: GPL-2.0
#include "second/llvm_decoder.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace djprobe::test {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
// An x86 memory operand: base, scale, index, displacement, segment.
constexpr unsigned kMemoryOperands = 5;

using Flow = Other::Flow;

bool starts_with(llvm::StringRef name, std::initializer_list<const char*> prefixes) {
    // LLVM's own method has had two names.
    const std::string_view text(name.data(), name.size());
    for (const char* prefix : prefixes)
        if (text.starts_with(prefix)) return true;
    return false;
}

bool is_one_of(llvm::StringRef name, std::initializer_list<const char*> names) {
    for (const char* other : names)
        if (name == other) return true;
    return false;
}

/// LLVM's tables know calls, branches and returns; the rest goes by name.
Flow flow_of(const llvm::MCInstrDesc& desc, llvm::StringRef name) {
    if (name == "INT3") return Flow::Int3;
    if (is_one_of(name, {"ENDBR64", "ENDBR32"})) return Flow::Endbr;
    if (is_one_of(name, {"TRAP", "INT", "INTO", "INT1"}) || starts_with(name, {"UD0", "UD1"}))
        return Flow::Trap;
    if (starts_with(name, {"XBEGIN", "XABORT", "XEND"})) return Flow::Transaction;
    if (is_one_of(name, {"STI", "MOV16sr", "MOV32sr", "MOV64sr", "MOV16sm"}))
        return Flow::Shadow;  // mov to any segment register; the operand tells which
    if (starts_with(name, {"FARCALL", "FARJMP", "IRET", "LRET", "SYSRET", "SYSEXIT", "UIRET"}))
        return Flow::Far;
    if (is_one_of(name, {"HLT", "SYSCALL", "SYSENTER", "RSM", "SWAPGS", "MWAITrr", "MWAITXrrr",
                         "UMWAIT", "TPAUSE", "SENDUIPI"}) ||
        starts_with(name, {"VMLAUNCH", "VMRESUME", "VMCALL", "VMFUNC", "VMXOFF", "VMXON", "ENCL"}))
        return Flow::System;
    if (starts_with(name, {"LOOP", "JCXZ", "JECXZ", "JRCXZ"})) return Flow::CounterJump;
    if (desc.isReturn()) return Flow::Return;
    const bool indirect = !name.contains("pcrel") && !starts_with(name, {"JMP_", "JCC_"});
    if (desc.isCall()) return indirect ? Flow::IndirectCall : Flow::Call;
    if (desc.isIndirectBranch()) return Flow::IndirectJump;
    if (desc.isUnconditionalBranch()) return Flow::Jump;
    if (desc.isConditionalBranch()) return Flow::CondJump;
    return Flow::Falls;
}

}  // namespace

struct LlvmDecoder::State {
    llvm::MCTargetOptions options;
    std::unique_ptr<llvm::MCRegisterInfo> registers;
    std::unique_ptr<llvm::MCAsmInfo> assembly;
    std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
    std::unique_ptr<llvm::MCInstrInfo> instructions;
    std::unique_ptr<llvm::MCContext> context;
    std::unique_ptr<llvm::MCDisassembler> disassembler;
    std::vector<Flow> flows;
    unsigned rip = 0, eip = 0, rsp = 0, esp = 0, ss = 0;
};

LlvmDecoder::LlvmDecoder() : state_(std::make_unique<State>()) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    std::string error;
    const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(kTriple, error);
    if (!target) throw std::runtime_error("LLVM: " + error);
    State& s = *state_;
    s.registers.reset(target->createMCRegInfo(kTriple));
    s.assembly.reset(target->createMCAsmInfo(*s.registers, kTriple, s.options));
    s.subtarget.reset(target->createMCSubtargetInfo(kTriple, "", ""));
    s.instructions.reset(target->createMCInstrInfo());
    s.context = std::make_unique<llvm::MCContext>(llvm::Triple(kTriple), s.assembly.get(),
                                                  s.registers.get(), s.subtarget.get());
    s.disassembler.reset(target->createMCDisassembler(*s.subtarget, *s.context));
    for (unsigned opcode = 0; opcode < s.instructions->getNumOpcodes(); ++opcode)
        s.flows.push_back(flow_of(s.instructions->get(opcode), s.instructions->getName(opcode)));
    for (unsigned i = 1; i < s.registers->getNumRegs(); ++i) {
        const llvm::StringRef name = s.registers->getName(i);
        if (name == "RIP") s.rip = i;
        if (name == "EIP") s.eip = i;
        if (name == "RSP") s.rsp = i;
        if (name == "ESP") s.esp = i;
        if (name == "SS") s.ss = i;
    }
}

LlvmDecoder::~LlvmDecoder() = default;

void LlvmDecoder::decode(Span<const u8> bytes, u64 address, Other& out) const {
    const State& s = *state_;
    out = Other{};
    llvm::MCInst insn;
    std::uint64_t length = 0;
    if (s.disassembler->getInstruction(insn, length, {bytes.data(), bytes.size()}, address,
                                       llvm::nulls()) != llvm::MCDisassembler::Success)
        return;
    out.valid = true;
    out.length = static_cast<u8>(length);
    out.name = s.instructions->getName(insn.getOpcode()).str();
    out.flow = s.flows[insn.getOpcode()];
    const bool loads_segment = out.flow == Flow::Shadow && out.name != "STI";
    if (loads_segment && insn.getOperand(0).getReg() != s.ss) out.flow = Flow::Falls;

    for (unsigned i = 0; i < insn.getNumOperands(); ++i) {
        const llvm::MCOperand& operand = insn.getOperand(i);
        if (!operand.isReg() || !operand.getReg()) continue;
        const bool eip = operand.getReg() == s.eip;
        if (operand.getReg() == s.rsp || operand.getReg() == s.esp) out.on_stack = true;
        if ((eip || operand.getReg() == s.rip) && i + kMemoryOperands <= insn.getNumOperands() &&
            insn.getOperand(i + 3).isImm()) {
            out.rip_relative = true;
            out.eip = eip;
            out.displacement = insn.getOperand(i + 3).getImm();
        }
    }
    switch (out.flow) {
        case Flow::Jump:
        case Flow::CondJump:
        case Flow::CounterJump:
        case Flow::Call:
            out.direct = true;
            break;
        case Flow::Transaction:
            out.direct = out.name.starts_with("XBEGIN");
            break;
        default:
            break;
    }
    if (out.direct) out.target = address + length + static_cast<u64>(insn.getOperand(0).getImm());
}

}  // namespace djprobe::test
