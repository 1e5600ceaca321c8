// SPDX-License-Identifier: GPL-2.0
// What the analysis claims to be safe in a whole kernel, for oracle.py: one line per site that gets
// a jump: "TACTIC IA ANCHOR LENGTH BOARD", numbers in hex.
#include <fmt/core.h>

#include <cstdio>
#include <exception>

#include "survey/text_map.h"

namespace {

constexpr char kTactics[] = {'W', 'S', 'B'};

void print_claims(const djprobe::loader::TextMap& map) {
    const auto& functions = map.functions();
    for (std::size_t i = 0; i < functions.size(); ++i)
        for (djprobe::u64 at = functions[i].code.address; at < functions[i].real_end; ++at) {
            djprobe::x86::Plan plan;
            if (!map.is_insn_start(at) || map.plan(i, at, plan) || !plan.may_jump()) continue;
            fmt::print("{} {:x} {:x} {:x} {:x}\n", kTactics[static_cast<std::size_t>(plan.tactic)],
                       plan.site, plan.anchor, plan.region.length, plan.board);
        }
}

}  // namespace

int main(int argc, char** argv) {
    using namespace djprobe::loader;
    if (argc != 3) {
        fmt::print(stderr, "usage: oracle_claims VMLINUX KALLSYMS\n");
        return 2;
    }
    try {
        const KernelImage image = KernelImage::from_file(argv[1], argv[2]);
        const TextFacts facts = read_facts(image);
        print_claims(TextMap(image, facts));
    } catch (const std::exception& error) {
        fmt::print(stderr, "oracle_claims: {}\n", error.what());
        return 1;
    }
    return 0;
}
