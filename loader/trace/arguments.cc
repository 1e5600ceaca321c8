// SPDX-License-Identifier: GPL-2.0
#include "trace/arguments.h"

#include <fmt/format.h>

namespace djprobe::loader {
namespace {

// By x86-64's calling convention.
constexpr std::size_t kRegisters = 6, kLargestInRegisters = 16;

// How many registers, or words on the stack.
std::size_t words_of(const Types& types, TypeId type) {
    return (types.size(type) + 7) / 8;
}

struct ArgumentPlace {
    bool on_stack = false;
    std::size_t index = 0;  // of the register, or of the word behind the return address
};

ArgumentPlace place_of(const Types& types, const Function& function, std::size_t index) {
    std::size_t registers = 0, stack = 0;
    for (std::size_t i = 0;; ++i) {
        const TypeId type = function.arguments[i].type;
        const std::size_t words = words_of(types, type);
        const bool fits =
            types.size(type) <= kLargestInRegisters && registers + words <= kRegisters;
        if (i == index) return {!fits, fits ? registers : stack};
        (fits ? registers : stack) += words;
    }
}

std::string word_at(const ArgumentPlace& place) {
    if (place.on_stack)
        return fmt::format("READ(unsigned long, (unsigned long *)PT_REGS_SP(ctx) + {})",
                           place.index + 1);
    // libbpf's macros end at the fifth.
    return place.index == 5 ? "ctx->r9" : fmt::format("PT_REGS_PARM{}(ctx)", place.index + 1);
}

}  // namespace

std::string value_in_register(const Types& types, TypeId type, std::string_view word) {
    // What is in the register above a bool's byte means nothing.
    const bool is_byte = types.is_integer(type) && types.size(type) == 1;
    return fmt::format("({}){}", is_byte ? "unsigned char" : types.name(type), word);
}

std::string argument_value(const Types& types, const Function& function, std::size_t index) {
    const TypeId type = types.unqualified(function.arguments[index].type);
    if (types.is_composite(type)) return "";
    const std::string word = word_at(place_of(types, function, index));
    return value_in_register(types, type, word);
}

}  // namespace djprobe::loader
