// SPDX-License-Identifier: GPL-2.0
// What the loader makes of the variables at random statements of a kernel, a line of JSON for each
// pair of a statement and a variable: for against_gdb, which asks gdb for the same.
//
//     build/tests/dwarf/variable_dump VMLINUX STATEMENTS SEED [FOLDER/]...
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "debuginfo/variables.h"
#include "unit_code.h"

namespace djprobe::test {
namespace {

using loader::DwarfFile;
using loader::Location;
using loader::SourceVariable;

std::vector<std::uint64_t> statements(const DwarfFile& debug,
                                      const std::vector<std::string>& folders) {
    std::vector<std::uint64_t> all;
    for (const Dwarf_Die& unit : units_in(debug, folders))
        for (const Row& row : code_of(unit).rows)
            if (row.instance != UnitCode::kNone) all.push_back(row.address);
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

const char* kind_of(const Location& location) {
    switch (location.kind) {
        case Location::Kind::kNone:
            return "none";
        case Location::Kind::kValue:
            return "value";
        case Location::Kind::kMemory:
            return "memory";
        case Location::Kind::kWords:
            return "words";
    }
    return "";
}

void print(std::uint64_t address, const SourceVariable& variable) {
    const Location& location = variable.location;
    nlohmann::ordered_json line = {{"address", address},
                                   {"name", variable.name},
                                   {"function", variable.function},
                                   {"kind", kind_of(location)}};
    line["text"] = location.kind == Location::Kind::kNone ? location.why : location.text;
    if (!location.words.empty()) line["words"] = location.words;
    if (!location.given.empty()) line["given"] = location.given;
    fmt::print("{}\n", line.dump());
}

int run(const std::string& vmlinux, std::size_t count, std::uint64_t seed,
        const std::vector<std::string>& folders) {
    const DwarfFile debug = DwarfFile::open(vmlinux);
    const std::vector<std::uint64_t> all = statements(debug, folders);
    std::vector<std::uint64_t> chosen;
    std::mt19937_64 random(seed);
    std::ranges::sample(all, std::back_inserter(chosen), static_cast<std::ptrdiff_t>(count),
                        random);
    for (const std::uint64_t address : chosen)
        for (const SourceVariable& variable : variables_at(debug, address, 0))
            print(address, variable);
    return 0;
}

}  // namespace
}  // namespace djprobe::test

int main(int argc, char** argv) {
    if (argc < 4) {
        fmt::print(stderr, "usage: {} VMLINUX STATEMENTS SEED [FOLDER/]...\n", argv[0]);
        return 2;
    }
    try {
        return djprobe::test::run(argv[1], std::stoul(argv[2]), std::stoul(argv[3]),
                                  {argv + 4, argv + argc});
    } catch (const djprobe::loader::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
