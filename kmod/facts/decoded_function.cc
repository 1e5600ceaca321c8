// SPDX-License-Identifier: GPL-2.0
#include "decoded_function.h"

#include "../../arch/x86/insn/scan.h"

namespace djprobe::kmod {
namespace {

// Of the largest functions the rest is decoded when it is asked for.
constexpr size_t kMaxDecoded = 4096;

bool is_same(const Code& code, const Code& other) {
    if (code.address != other.address || code.bytes.size() != other.bytes.size()) return false;
    for (size_t i = 0; i < code.bytes.size(); ++i)
        if (code.bytes[i] != other.bytes[i]) return false;
    return true;
}

}  // namespace

bool DecodedFunction::allocate() {
    decoded_ = Array<x86::Insn>(kMaxDecoded);
    return static_cast<bool>(decoded_);
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
    return {};
}

void DecodedFunction::decode() {
    if (code_.decoded.empty())
        code_.decoded = decoded_.all().first(x86::decode_ahead(code_, decoded_.all()));
}

}  // namespace djprobe::kmod
