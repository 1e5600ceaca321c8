// SPDX-License-Identifier: GPL-2.0
#include "function_text.h"

#include <algorithm>

#include "../../symbols.h"
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

/// From `start` to the symbol behind it.
class TextReader {
  public:
    std::vector<x86::Insn> read(uint64_t start) const {
        const auto next = std::ranges::upper_bound(functions_, start);
        if (next == functions_.end()) return {};
        return decode_all(start, memory_.read(start, *next - start));
    }
    const std::vector<Symbol>& symbols() const { return symbols_.symbols(); }

  private:
    static std::vector<x86::Insn> decode_all(uint64_t start, const std::vector<uint8_t>& bytes);

    const Kallsyms symbols_ = Kallsyms::read();
    const std::vector<uint64_t> functions_ = kernel_functions(symbols_);
    const loader::Kcore memory_;
};

std::vector<x86::Insn> TextReader::decode_all(uint64_t start, const std::vector<uint8_t>& bytes) {
    std::vector<x86::Insn> insns;
    x86::Insn insn;
    for (size_t at = 0; at < bytes.size(); at += insn.length) {
        if (!x86::decode({bytes.data() + at, bytes.size() - at}, start + at, insn)) break;
        insns.push_back(insn);
    }
    // Between functions.
    while (!insns.empty() &&
           (insns.back().kind == x86::Kind::Int3 || insns.back().kind == x86::Kind::Nop))
        insns.pop_back();
    return insns;
}

bool leads_into(const std::vector<x86::Insn>& insns, const FunctionText& text) {
    return std::ranges::any_of(insns, [&](const x86::Insn& insn) {
        return is_branch(insn) && insn.target > text.start && insn.target < text.end;
    });
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
    const TextReader reader;
    std::vector<FunctionText> functions;
    for (const std::string& name : names)
        for (const Symbol& symbol : reader.symbols()) {
            if (!symbol.module.empty() || !symbol.is_text() || !is_called(symbol.name, name))
                continue;
            FunctionText text;
            text.name = symbol.name;
            text.start = symbol.address;
            text.insns = reader.read(symbol.address);
            if (text.insns.empty()) continue;
            text.end = text.insns.back().end();
            functions.push_back(std::move(text));
        }
    for (FunctionText& text : functions)
        for (const Symbol& symbol : reader.symbols())
            if (symbol.is_text() && symbol.name.starts_with(text.name + ".cold"))
                text.is_entered_from_cold |= leads_into(reader.read(symbol.address), text);
    return functions;
}

}  // namespace djprobe::vm
