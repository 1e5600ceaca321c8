// SPDX-License-Identifier: GPL-2.0
// The table answers as libdwfl does, which looks at each symbol. The file is this test itself.
#include "debuginfo/symbol_table.h"

#include <elfutils/libdwfl.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>

namespace djprobe::loader {
namespace {

constexpr Dwfl_Callbacks kNoOtherFiles = {
    .find_elf = nullptr,
    .find_debuginfo = [](Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                         GElf_Word, char**) { return -1; },
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

class SymbolTableTest : public testing::Test {
  protected:
    SymbolTableTest() : files_(dwfl_begin(&kNoOtherFiles), dwfl_end) {
        dwfl_report_begin(files_.get());
        file_ = dwfl_report_offline(files_.get(), "file", "/proc/self/exe", -1);
        dwfl_report_end(files_.get(), nullptr, nullptr);
    }

    template <typename F>
    void for_each_symbol(F&& use) const {
        for (int i = 0; i < dwfl_module_getsymtab(file_); ++i) {
            GElf_Sym symbol;
            GElf_Addr address = 0;
            if (const char* const name =
                    dwfl_module_getsym_info(file_, i, &symbol, &address, nullptr, nullptr, nullptr))
                use(name, symbol, address);
        }
    }

    const std::unique_ptr<Dwfl, decltype(&dwfl_end)> files_;
    Dwfl_Module* file_ = nullptr;
};

TEST_F(SymbolTableTest, AnAddressHasTheSymbolThatLibdwflFinds) {
    const SymbolTable table(file_);
    Dwarf_Addr begin = 0, end = 0;
    dwfl_module_info(file_, nullptr, &begin, &end, nullptr, nullptr, nullptr, nullptr);
    ASSERT_LT(begin, end);
    std::mt19937_64 random(1);
    std::uniform_int_distribution<std::uint64_t> any(begin, end - 1);
    unsigned found = 0;
    for (int i = 0; i < 2'000; ++i) {
        const std::uint64_t address = any(random);
        const auto ours = table.find(address);
        if (!ours) continue;
        ++found;
        GElf_Off offset = 0;
        GElf_Sym symbol;
        const char* const theirs =
            dwfl_module_addrinfo(file_, address, &offset, &symbol, nullptr, nullptr, nullptr);
        ASSERT_TRUE(theirs) << ours->name;
        EXPECT_EQ(ours->name, theirs) << std::hex << address;
        EXPECT_EQ(ours->offset, offset) << theirs;
    }
    EXPECT_GT(found, 200u);
}

TEST_F(SymbolTableTest, ANameHasAllItsSymbols) {
    const SymbolTable table(file_);
    std::map<std::string, std::size_t> counts;
    std::map<std::string, std::uint64_t> first;
    for_each_symbol([&](const char* name, const GElf_Sym& symbol, std::uint64_t address) {
        ++counts[name];
        if (symbol.st_shndx != SHN_UNDEF) first.try_emplace(name, address);
    });
    EXPECT_GT(counts.size(), 1'000u);
    for (const auto& [name, count] : counts) {
        EXPECT_EQ(table.count_of(name), count) << name;
        const auto address = table.address_of(name);
        const auto expected = first.find(name);
        ASSERT_EQ(address.has_value(), expected != first.end()) << name;
        if (address) {
            EXPECT_EQ(*address, expected->second) << name;
        }
    }
    EXPECT_EQ(table.count_of("no such symbol"), 0u);
    EXPECT_FALSE(table.address_of("no such symbol"));
}

}  // namespace
}  // namespace djprobe::loader
