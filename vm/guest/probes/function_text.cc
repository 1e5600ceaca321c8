// SPDX-License-Identifier: GPL-2.0
#include "function_text.h"

#include <algorithm>

#include "../symbols.h"
#include "kernel/kcore.h"

namespace djprobe::vm {
namespace {

constexpr uint64_t kJump = 5;

bool is_branch(const x86::Insn& insn) {
    return insn.kind == x86::Kind::Jump || insn.kind == x86::Kind::CondJump ||
           insn.kind == x86::Kind::CounterJump;
}

bool is_called(std::string_view symbol, std::string_view name) {
    return symbol.starts_with(name) &&
           (symbol.size() == name.size() ||
            (symbol[name.size()] == '.' && symbol.find(".cold") == symbol.npos));
}

void decode_all(const std::vector<uint8_t>& bytes, FunctionText& text) {
    x86::Insn insn;
    for (size_t at = 0; at < bytes.size(); at += insn.length) {
        if (!x86::decode({bytes.data() + at, bytes.size() - at}, text.start + at, insn)) break;
        text.insns.push_back(insn);
    }
    // Between functions.
    while (!text.insns.empty() &&
           (text.insns.back().kind == x86::Kind::Int3 || text.insns.back().kind == x86::Kind::Nop))
        text.insns.pop_back();
    text.end = text.insns.empty() ? text.start : text.insns.back().end();
}

}  // namespace

const x86::Insn* FunctionText::at(uint64_t address) const {
    const auto found = std::ranges::lower_bound(insns, address, {}, &x86::Insn::address);
    return found != insns.end() && found->address == address ? &*found : nullptr;
}

uint64_t FunctionText::end_of_jump(uint64_t address) const {
    uint64_t behind = address;
    while (behind < address + kJump) {
        const x86::Insn* const insn = at(behind);
        if (!insn) return address + kJump;
        behind = insn->end();
    }
    return behind;
}

const x86::Insn* FunctionText::branch_into_jump(uint64_t address) const {
    for (const x86::Insn& insn : insns)
        if (is_branch(insn) && insn.target > address && insn.target < address + kJump) return &insn;
    return nullptr;
}

std::vector<FunctionText> read_functions(const std::vector<std::string>& names) {
    const Kallsyms symbols = Kallsyms::read();
    const std::vector<uint64_t> all = kernel_functions(symbols);
    const loader::Kcore memory;
    std::vector<FunctionText> functions;
    for (const std::string& name : names)
        for (const Symbol& symbol : symbols.symbols()) {
            if (!symbol.module.empty() || !symbol.is_text() || !is_called(symbol.name, name))
                continue;
            const auto next = std::ranges::upper_bound(all, symbol.address);
            if (next == all.end()) continue;
            FunctionText text{std::string(symbol.name), symbol.address, 0, {}};
            decode_all(memory.read(symbol.address, *next - symbol.address), text);
            functions.push_back(std::move(text));
        }
    return functions;
}

}  // namespace djprobe::vm
