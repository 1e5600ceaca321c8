// SPDX-License-Identifier: GPL-2.0
// Walking a function instruction by instruction.
#pragma once

#include "decode.h"
#include "reason.h"

namespace djprobe::x86 {

/// Where an address stands among the instructions of a function.
struct Boundary {
    u64 before = 0;  ///< the last instruction start <= the address
    u64 after = 0;   ///< the first one > the address
    constexpr bool is_start(u64 address) const { return before == address; }
};

/// Decode one more instruction into code.known. False: there is none, no room, or it cannot be
/// decoded.
[[nodiscard]] bool know_more(const Code& code);

/// Decode `code` from its first byte up to `stop` and call visit(const Insn&) -> bool (false:
/// enough). UNSCANNABLE when an instruction before `stop` cannot be decoded or runs past the code's
/// end; but for a last byte that is zero, half of what fills a module's last page.
template <class Visit>
Refusal for_each_insn(const Code& code, u64 stop, Visit&& visit) {
    u64 at = code.address;
    for (size_t i = 0; code.known && at < stop; ++i) {
        if (i == code.known->count && !know_more(code)) break;
        const Insn& insn = code.known->room[i];
        if (!visit(insn)) return {};
        at = insn.end();
    }
    while (at < stop) {
        Insn insn;
        const Span<const u8> bytes = code.from(at);
        if (bytes.size() == 1 && bytes[0] == 0) break;
        if (!decode(bytes, at, insn)) return Refusal{Reason::UNSCANNABLE, at};
        if (!visit(insn)) break;
        at = insn.end();
    }
    return {};
}

/// The instruction at `at`, which need not be one that for_each_insn() visits. False when it cannot
/// be decoded or lies outside.
[[nodiscard]] bool insn_at(const Code& code, u64 at, Insn& out);

/// Find the instruction boundaries around `address` within `function`. UNSCANNABLE as of
/// for_each_insn().
Refusal find_boundary(const Code& function, u64 address, Boundary& out);

/// The bytes behind `site` that a jump there would replace: up to the end of the instructions that
/// cover it. As far as they can be decoded, at least the jump itself.
Range replaced_bytes(const Code& function, u64 site);

/// End of the function's last instruction that is not padding (int3, nop, zero bytes).
/// Returns the code's end when it cannot be decoded to the end.
u64 real_end(const Code& function);

/// Whether `address` lies behind real_end(), mostly without decoding.
bool is_past_end(const Code& function, u64 address);

/// The padding behind a function's last instruction, if control cannot run into it: int3 and long
/// nops after an instruction that never continues. Empty otherwise. Not the one-byte nops that
/// compilers put before a function for the kernel to patch, nor the int3 right behind a return or a
/// jump, which stops straight-line speculation.
Range dead_padding(const Code& function);

}  // namespace djprobe::x86
