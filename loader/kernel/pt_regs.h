// SPDX-License-Identifier: GPL-2.0
// The general registers of x86-64, by their numbers in DWARF.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace djprobe::loader {

struct PtReg {
    std::string_view whole, half;  ///< as instructions name it
    std::string_view member;       ///< of struct pt_regs
};

inline constexpr std::array<PtReg, 16> kPtRegs = {{{"rax", "eax", "ax"},
                                                   {"rdx", "edx", "dx"},
                                                   {"rcx", "ecx", "cx"},
                                                   {"rbx", "ebx", "bx"},
                                                   {"rsi", "esi", "si"},
                                                   {"rdi", "edi", "di"},
                                                   {"rbp", "ebp", "bp"},
                                                   {"rsp", "esp", "sp"},
                                                   {"r8", "r8d", "r8"},
                                                   {"r9", "r9d", "r9"},
                                                   {"r10", "r10d", "r10"},
                                                   {"r11", "r11d", "r11"},
                                                   {"r12", "r12d", "r12"},
                                                   {"r13", "r13d", "r13"},
                                                   {"r14", "r14d", "r14"},
                                                   {"r15", "r15d", "r15"}}};

/// Whether it is the name of one, or of its lower half.
constexpr bool names_pt_reg(std::string_view word) {
    for (const PtReg& reg : kPtRegs)
        if (word == reg.whole || word == reg.half) return true;
    return false;
}

/// By its number in instructions, which is another one for the first eight.
constexpr const PtReg& pt_reg_of_instructions(std::size_t number) {
    constexpr std::array<std::uint8_t, 8> kByDwarf = {0, 2, 1, 3, 7, 6, 4, 5};
    return kPtRegs.at(number < kByDwarf.size() ? kByDwarf.at(number) : number);
}

}  // namespace djprobe::loader
