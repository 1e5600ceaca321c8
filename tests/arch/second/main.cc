// SPDX-License-Identifier: GPL-2.0
// decode() against a second decoder (LLVM's): length, validity, kind, branch target, RIP-relative
// operand.
//
//   second_decoder COUNT SEED [ELF...]
//
// COUNT byte strings by SEED, and every instruction of the files' executable sections. Prints how
// many were compared and how often which of the explained disagreements occurred; exit status 1
// when there is any other.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "second/byte_strings.h"
#include "second/compare.h"
#include "support/elf_text.h"

namespace {

using namespace djprobe;
using namespace djprobe::test;

// Where the kernel's text lies: displacements lead to where they would in a kernel.
constexpr u64 kText = 0xffffffff81000000;

void compare_file(Comparison& comparison, const char* path) {
    for (const Bytes& code : text_of(path))
        for (size_t at = 0; at < code.size();)
            at += comparison.add({code.data() + at, code.size() - at}, kText + at);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: second_decoder COUNT SEED [ELF...]\n");
        return 2;
    }
    try {
        Comparison comparison;
        ByteStrings strings(std::strtoull(argv[2], nullptr, 0));
        const u64 count = std::strtoull(argv[1], nullptr, 0);
        for (u64 i = 0; i < count; ++i) {
            u8 bytes[ByteStrings::kLength];
            strings.next(bytes);
            comparison.add(bytes, kText);
        }
        std::printf("%lu byte strings:\n", count);
        bool same = comparison.report();
        for (int i = 3; i < argc; ++i) {
            Comparison file;
            compare_file(file, argv[i]);
            std::printf("%s:\n", argv[i]);
            same = file.report() && same;
        }
        return same ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "second_decoder: %s\n", error.what());
        return 2;
    }
}
