// SPDX-License-Identifier: GPL-2.0
#include "jump_tables.h"

#include "../../arch/x86/insn/jump_table.h"
#include "../../arch/x86/insn/scan.h"
#include "function_copy.h"

namespace djprobe::kmod {
namespace {

constexpr size_t kPause = 1 << 16;

/// Whether the bytes at `at` belong to a jump through a table, which decoding their function tells.
/// A function that cannot be decoded up to there gets no jump anyway.
bool is_one(u64 at) {
    FunctionCopy function;
    if (!function.load(at)) return function.out_of_memory();
    const Code code = function.code();
    bool found = false;
    (void)x86::for_each_insn(code, at + 1, [&](const x86::Insn& insn) {
        if (insn.end() > at) found = is_table_jump(insn, code.from(insn.address));
        return !found;
    });
    return found;
}

}  // namespace

bool has_jump_tables(Range text) {
    const Span<const u8> bytes = {reinterpret_cast<const u8*>(text.begin), text.size()};
    for (size_t i = 0; i < bytes.size(); ++i) {
        if (i % kPause == 0) djk_breathe();
        if (bytes[i] != 0xff && bytes[i] != 0x3e) continue;
        if (x86::looks_like_table_jump(bytes.from(i)) && is_one(text.begin + i)) return true;
    }
    return false;
}

}  // namespace djprobe::kmod
