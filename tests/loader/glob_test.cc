// SPDX-License-Identifier: GPL-2.0
#include "kernel/glob.h"

#include <gmock/gmock.h>

#include "expect_error.h"

namespace djprobe::loader {
namespace {

constexpr const char* kGlobSymbols =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000ff0 t __pfx_vfs_read\n"
    "ffffffff81001000 T vfs_read\n"
    "ffffffff81002000 T vfs_write\n"
    "ffffffff81002000 T vfs_write_alias\n"
    "ffffffff81003000 t vfs_read.cold\n"
    "ffffffff81004000 t vfs_read.isra.0\n"
    "ffffffff81005000 D vfs_data\n"
    "ffffffffc0001000 t vfs_foreign\t[other]\n"
    "ffffffffc0002000 t vfs_program\t[bpf]\n"
    "ffffffffc0003000 t vfs_slot\t[__builtin__kprobes]\n";

std::vector<std::string> names(const std::string& pattern) {
    const Kallsyms kallsyms = Kallsyms::parse(kGlobSymbols);
    std::vector<std::string> names;
    for (const Symbol& symbol : functions_like(kallsyms, pattern))
        names.push_back(symbol.qualified_name());
    return names;
}

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Glob, functions_of_the_kernel_and_its_modules_each_once) {
    EXPECT_THAT(names("vfs_*"),
                ElementsAre("vfs_read", "vfs_write", "vfs_read.isra.0", "other:vfs_foreign"));
}

TEST(Glob, all_that_fnmatch_knows) {
    EXPECT_THAT(names("vfs_?ead"), ElementsAre("vfs_read"));
    EXPECT_THAT(names("vfs_[a-s]*"),
                ElementsAre("vfs_read", "vfs_read.isra.0", "other:vfs_foreign"));
    EXPECT_THAT(names("*.[[:alpha:]]*"), ElementsAre("vfs_read.isra.0"));
}

TEST(Glob, module_by_name_or_pattern) {
    EXPECT_THAT(names("other:*"), ElementsAre("other:vfs_foreign"));
    EXPECT_THAT(names("o*:vfs_*"), ElementsAre("other:vfs_foreign"));
    EXPECT_THAT(names("bpf:*"), IsEmpty());
}

TEST(Glob, tells_why_nothing_is_like_it) {
    const Kallsyms kallsyms = Kallsyms::parse(kGlobSymbols);
    const auto told = [&](const char* pattern) {
        return expect_error(ExitCode::kNoSuchSite, [&] { fail_none_like(kallsyms, pattern); });
    };
    EXPECT_EQ(told("xfs:*"), "'xfs:*': no module xfs is loaded: modprobe xfs");
    EXPECT_EQ(told("none_*"), "no function is named like 'none_*'");
    EXPECT_EQ(told("vfs_[a"), "no function is named like 'vfs_[a': no ']' ends its '['");
}

TEST(Glob, module_that_is_missing) {
    const Kallsyms kallsyms = Kallsyms::parse(kGlobSymbols);
    EXPECT_EQ(missing_module(kallsyms, "xfs:*"), "no module xfs is loaded: modprobe xfs");
    EXPECT_EQ(missing_module(kallsyms, "nf-tables:nft_*"),
              "no module is named nf-tables: the kernel writes nf_tables");
    EXPECT_EQ(missing_module(kallsyms, "x*:*"), "no module is named like 'x*'");
    EXPECT_EQ(missing_module(kallsyms, "other:none"), "");
    EXPECT_EQ(missing_module(kallsyms, "o*:none"), "");
    EXPECT_EQ(missing_module(kallsyms, "vfs_none"), "");
    EXPECT_EQ(missing_module(Kallsyms::parse(""), "xfs:*"), "");
}

TEST(Glob, places_as_bpftrace_and_perf_write_them) {
    const Kallsyms kallsyms = Kallsyms::parse(kGlobSymbols);
    const auto told = [&](const char* place) { return missing_module(kallsyms, place); };
    EXPECT_EQ(told("kprobe:vfs_read"), "'kprobe' is no module: write vfs_read");
    EXPECT_EQ(told("p:vfs_*"), "'p' is no module: write vfs_*");
    EXPECT_EQ(told("kretprobe:vfs_read"),
              "'kretprobe' is no module: for its returns: probeload trace vfs_read:return");
    EXPECT_EQ(told("vfs_read:entry"), "vfs_read is a function, and no module: write vfs_read");
    for (const char* const place : {"vfs_read:return", "vfs_read:ret", "vfs_read:exit"})
        EXPECT_EQ(told(place),
                  "vfs_read is a function, and no module: for its returns: probeload trace "
                  "vfs_read:return");
    EXPECT_EQ(told("none:exit"), "no module none is loaded: modprobe none");
    EXPECT_EQ(told("other:exit"), "") << "a module may have a function of this name";
}

TEST(Glob, paddings_parts_and_data_are_no_functions) {
    EXPECT_THAT(names("*pfx*"), IsEmpty());
    EXPECT_THAT(names("*.cold"), IsEmpty());
    EXPECT_THAT(names("vfs_d*"), IsEmpty());
}

TEST(Glob, without_addresses_each_name_is_one) {
    const Kallsyms hidden = Kallsyms::parse("0000000000000000 T a\n0000000000000000 T b\n");
    EXPECT_EQ(functions_like(hidden, "*").size(), 2U);
}

TEST(Glob, other_name_of_an_address) {
    EXPECT_THAT(names("*_alias"), ElementsAre("vfs_write_alias"));
}

}  // namespace
}  // namespace djprobe::loader
