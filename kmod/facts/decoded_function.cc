// SPDX-License-Identifier: GPL-2.0
#include "decoded_function.h"

#include "../../arch/x86/analysis/local_arrivals.h"
#include "../../arch/x86/insn/scan.h"

namespace djprobe::kmod {
namespace {

// Of the largest functions the rest is decoded when it is asked for.
constexpr size_t kMaxDecoded = 4096;
// Bytes, of so many instructions.
constexpr size_t kMaxTargets = kMaxDecoded * 8;

bool is_same(const Code& code, const Code& other) {
    if (code.address != other.address || code.bytes.size() != other.bytes.size()) return false;
    return __builtin_memcmp(code.bytes.data(), other.bytes.data(), code.bytes.size()) == 0;
}

}  // namespace

bool DecodedFunction::allocate() {
    decoded_ = Array<x86::Insn>(kMaxDecoded);
    targets_ = Array<u64>(kMaxTargets / 64);
    return decoded_ && targets_;
}

Refusal DecodedFunction::read(u64 address, const OwnText& ours) {
    FunctionCopy& copy = copies_[!second_];
    if (!copy.load(address))
        return Refusal{copy.out_of_memory() ? Reason::NO_MEMORY : Reason::NOT_TEXT};
    copy.recover_own(ours);
    // Decoding depends on nothing but the bytes and their address. For one site it is done as far
    // as it is asked for; from the second one on all share it.
    if (is_same(code_, copy.code())) {
        decode();
        return {};
    }
    second_ = !second_;
    code_ = copy.code();
    memo_ = {};
    return {};
}

void DecodedFunction::decode() {
    if (!code_.decoded.empty()) return;
    code_.decoded = decoded_.all().first(x86::decode_ahead(code_, decoded_.all()));
    if (x86::find_targets(code_, targets_.all()))
        memo_.targets = targets_.all().first((code_.bytes.size() + 63) / 64);
}

}  // namespace djprobe::kmod
