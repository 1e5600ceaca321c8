// SPDX-License-Identifier: GPL-2.0
#include "trace/registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace djprobe::loader {
namespace {

struct Register {
    std::string_view whole, half;
    std::string_view member;  // of struct pt_regs
};

// In DWARF's order, which is not that of instructions.
constexpr std::array<Register, 16> kRegisters = {{{"rax", "eax", "ax"},
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

}  // namespace

std::vector<Name> register_names(const Types& types) {
    std::vector<Name> names;
    for (const Register& one : kRegisters) {
        const std::string text = fmt::format("ctx->{}", one.member);
        names.push_back({std::string(one.whole), text, types.number(true, false)});
        names.push_back({std::string(one.half), "(__u32)" + text, types.number(false, false)});
    }
    return names;
}

std::string register_by_dwarf(unsigned number) {
    if (number >= kRegisters.size()) return "";
    return fmt::format("ctx->{}", kRegisters.at(number).member);
}

}  // namespace djprobe::loader
