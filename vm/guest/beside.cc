// SPDX-License-Identifier: GPL-2.0
// beside: where probes stand in for instructions of the running kernel, for a test that counts
// both.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "blocks/stand_in.h"
#include "kernel/glob.h"
#include "survey/analysis.h"

namespace {

using namespace djprobe;
using namespace djprobe::loader;

constexpr const char* kUsage =
    "usage: beside N SEED GLOB...\n"
    "Of each pattern's functions N random instructions that take a probe and have others that "
    "stand\n"
    "in for them, none of these in the straight line before: a line \"SITE STAND-IN...\" for "
    "each,\n"
    "as probeload count takes them.\n"
    "exit status: 0; 1 the kernel cannot be read; 2 error\n";

// "SYM+0xOFF", as the function's first symbol names it.
std::string place(const TextMap& map, std::size_t function, std::uint64_t address) {
    return fmt::format("{}+{:#x}", map.name(function),
                       address - map.functions()[function].code.address);
}

bool print(const TextMap& map, StandIns& stand_ins, std::size_t function, std::uint64_t site) {
    x86::Plan plan;
    if (site <= map.entry(function) || map.plan(function, site, plan)) return false;
    const std::vector<StandIn> found = stand_ins.find(function, site);
    if (found.empty() ||
        (found.size() == 1 && found.front().address < site && site - found.front().address < 16))
        return false;
    std::string line = place(map, function, site);
    for (const StandIn& one : found)
        line += ' ' + place(map, function, one.address);
    fmt::print("{}\n", line);
    return true;
}

// Of the kernel itself. A name that several functions have names none of them.
std::vector<Symbol> functions_of(const Kallsyms& kallsyms, const std::string& glob) {
    std::vector<Symbol> functions = functions_like(kallsyms, glob);
    std::erase_if(functions, [&](const Symbol& one) {
        return !one.module.empty() || kallsyms.find(std::string(one.name)).size() != 1;
    });
    return functions;
}

void print_some(const TextMap& map, const std::vector<Symbol>& functions, int wanted,
                std::mt19937& random) {
    StandIns stand_ins(map);
    for (int tries = 0, found = 0; found < wanted && tries < 100 * wanted; ++tries) {
        const std::size_t function = map.find(functions.at(random() % functions.size()).address);
        if (function == map.functions().size()) continue;
        const TextMap::Function& one = map.functions()[function];
        const std::uint64_t size = one.real_end - one.code.address;
        if (one.real_end == 0 || size == 0) continue;
        const std::uint64_t at = one.code.address + random() % size;
        if (map.is_insn_start(at)) found += print(map, stand_ins, function, at);
    }
}

void run(int wanted, unsigned seed, const std::vector<std::string>& globs) {
    KernelImage image = KernelImage::from_running_kernel(Kallsyms::read());
    std::vector<std::vector<Symbol>> functions;
    std::vector<Symbol> all;
    for (const std::string& glob : globs) {
        functions.push_back(functions_of(image.symbols(), glob));
        all.insert(all.end(), functions.back().begin(), functions.back().end());
    }
    const auto texts = analyse_near(image, "", ranges_of(image.symbols(), all));
    std::mt19937 random(seed);
    for (const std::vector<Symbol>& some : functions)
        print_some(texts.front().map, some, wanted, random);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fputs(kUsage, stderr);
        return 2;
    }
    try {
        run(std::atoi(argv[1]), static_cast<unsigned>(std::atoi(argv[2])), {argv + 3, argv + argc});
        return 0;
    } catch (const Error& error) {
        fmt::print(stderr, "beside: {}\n", error.what());
        return 1;
    }
}
