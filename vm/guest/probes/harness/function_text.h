// SPDX-License-Identifier: GPL-2.0
// The instructions of the running kernel's functions, read and decoded here: what both the module
// and the kernel's kprobes have to agree with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arch/x86/insn/decode.h"

namespace djprobe::vm {

/// One function's instructions, in order. They are those that were there when it was read.
struct FunctionText {
    std::string name;
    uint64_t start = 0;
    uint64_t end = 0;  ///< of the last instruction that could be decoded
    std::vector<x86::Insn> insns;
    /// Its NAME.cold jumps back into it. The kernel's own optimizer does not look there, and may
    /// write a jump where that leads, also without us.
    bool is_entered_from_cold = false;

    /// Null: no instruction begins there.
    const x86::Insn* at(uint64_t address) const;
    /// Where the instructions from `address` on end that a jump of five bytes would replace.
    uint64_t end_of_jump(uint64_t address) const;
    /// The first branch of this function that leads behind the first of the five bytes of a jump at
    /// `address`. Null: there is none.
    const x86::Insn* branch_into_jump(uint64_t address) const;
};

/// The kernel's functions of these names, also under the compiler's (NAME.part.0, NAME.isra.0,
/// ...). Nothing of them may be patched while they are read.
std::vector<FunctionText> read_functions(const std::vector<std::string>& names);

}  // namespace djprobe::vm
