// SPDX-License-Identifier: GPL-2.0
#include "survey/tracer_calls.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace djprobe::loader {
namespace {

using Function = std::array<std::uint8_t, 6>;

constexpr std::uint64_t kFunction = 0xffffffff81000000;
// nopl 0(%rax,%rax,1); ret
constexpr Function kUntraced = {0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3};
// call 0xffffffff81001000; ret
constexpr Function kCalls = {0xe8, 0xfb, 0x0f, 0x00, 0x00, 0xc3};

/// What remains of a function that calls what these lines of /proc/kallsyms name.
Function undone(const std::string& callees) {
    Function text = kCalls;
    undo_tracer_calls(Kallsyms::parse("ffffffff81000000 T function\n" + callees), kFunction, text);
    return text;
}

TEST(TracerCalls, become_the_nop_that_was_there) {
    EXPECT_EQ(undone("ffffffff81001000 t ftrace_caller\n"), kUntraced);
    EXPECT_EQ(undone("ffffffff81001000 t ftrace_trampoline\t[__builtin__ftrace]\n"), kUntraced);
    EXPECT_EQ(undone("ffffffff81001000 t bpf_trampoline_1\t[bpf]\n"), kUntraced);
}

TEST(TracerCalls, are_known_where_an_init_function_has_left_its_name) {
    EXPECT_EQ(undone("ffffffff81001000 t module_init\t[module]\n"
                     "ffffffff81001000 t ftrace_trampoline\t[__builtin__ftrace]\n"),
              kUntraced);
}

TEST(TracerCalls, are_no_other_calls) {
    EXPECT_EQ(undone("ffffffff81001000 t another\n"), kCalls);
    EXPECT_EQ(undone("ffffffff81000800 t ftrace_caller\n"), kCalls);
    EXPECT_EQ(undone(""), kCalls);
}

}  // namespace
}  // namespace djprobe::loader
