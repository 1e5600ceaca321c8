// SPDX-License-Identifier: GPL-2.0
#include "decoded_function.h"

#include "../../arch/x86/analysis/local_arrivals.h"
#include "../../arch/x86/insn/scan.h"

namespace djprobe::kmod {
namespace {

// Of an instruction.
constexpr size_t kUsualLength = 8;

bool is_same(const Code& code, const Code& other) {
    if (code.address != other.address || code.bytes.size() != other.bytes.size()) return false;
    return __builtin_memcmp(code.bytes.data(), other.bytes.data(), code.bytes.size()) == 0;
}

}  // namespace

bool DecodedFunction::allocate(size_t insns) {
    decoded_ = Array<x86::Insn>(insns);
    known_.room = decoded_.all();
    targets_ = Array<u64>(insns * kUsualLength / 64);
    return decoded_ && targets_;
}

Refusal DecodedFunction::read(u64 address, const OwnText& ours) {
    return take(copies_[!second_].load(address), ours);
}

Refusal DecodedFunction::read(u64 address, const OwnText& ours, const KernelText& text) {
    return take(copies_[!second_].load(address, text), ours);
}

bool DecodedFunction::is_still_at(u64 address, const OwnText& ours, const KernelText& text) {
    FunctionCopy& copy = copies_[!second_];
    if (!code_.range().contains(address) || !copy.load(address, text)) return false;
    copy.recover_own(ours);
    return is_same(code_, copy.code());
}

/// The copy that was loaded is that of the function now.
Refusal DecodedFunction::take(bool loaded, const OwnText& ours) {
    FunctionCopy& copy = copies_[!second_];
    again_ = false;
    if (!loaded) return Refusal{copy.out_of_memory() ? Reason::NO_MEMORY : Reason::NOT_TEXT};
    copy.recover_own(ours);
    // Decoding depends on nothing but the bytes and their address.
    again_ = is_same(code_, copy.code());
    if (again_) return {};
    second_ = !second_;
    code_ = copy.code();
    known_.count = 0;
    code_.known = &known_;
    memo_ = {};
    leaving_ = {};
    return {};
}

void DecodedFunction::decode() {
    if (!memo_.targets.empty()) return;
    while (x86::know_more(code_)) {
    }
    if (x86::find_targets(code_, targets_.all()))
        memo_.targets = targets_.all().first((code_.bytes.size() + 63) / 64);
}

}  // namespace djprobe::kmod
