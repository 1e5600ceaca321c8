// SPDX-License-Identifier: GPL-2.0
#include "kernel/reason.h"

#include <cerrno>
#include <set>

#include "base/descriptors.h"
#include "expect_error.h"
#include "kernel/rights.h"

namespace djprobe::loader {
namespace {

constexpr const char* kSymbols =
    "ffffffff81001000 T vfs_read\n"
    "ffffffff81001100 T vfs_readv\n"
    "ffffffff81002000 t vfs_read.cold\n"
    "ffffffff81003000 t twin\n"
    "ffffffff81004000 t twin\n"
    "ffffffff82000000 D vfs_caches\n"
    "ffffffffc0000000 t twin\t[ext4]\n";

Symbolizer symbolizer() {
    return Symbolizer(Kallsyms::parse(kSymbols));
}

std::string describe(std::uint32_t number, std::uint64_t first = 0, std::uint64_t second = 0) {
    Symbolizer names = symbolizer();
    return describe_reason({number, {first, second}}, names);
}

Error refuse(const char* site, std::uint32_t number, int error, std::uint64_t first = 0,
             std::uint64_t second = 0) {
    Symbolizer names = symbolizer();
    return refusal(parse_function(site), "on_hit", {number, {first, second}}, error, names);
}

struct Known {
    std::uint32_t number;
    const char* name;
    const char* text;
};

constexpr Known kKnown[] = {
#define DJPROBE_REASON_KNOWN(number, NAME, name, text, detail) {number, name, text},
    DJPROBE_REASONS(DJPROBE_REASON_KNOWN)
#undef DJPROBE_REASON_KNOWN
};

class EachReason : public testing::TestWithParam<Known> {};

TEST_P(EachReason, begins_with_its_text_and_is_one_line) {
    const std::string text = describe(GetParam().number, 0xffffffff81002012, 0xffffffff8100104b);
    EXPECT_EQ(text.rfind(GetParam().text, 0), 0U) << text;
    EXPECT_EQ(text.find('\n'), text.npos);
    EXPECT_EQ(reason_name(GetParam().number), GetParam().name);
}

TEST_P(EachReason, as_an_error_is_one_line_that_names_the_site_or_the_program) {
    const Error error = refuse("vfs_read+0x4", GetParam().number, EACCES, 0xffffffff81002012);
    const std::string line = error.what();
    EXPECT_EQ(line.find('\n'), line.npos);
    const bool names = line.find("vfs_read") != line.npos || line.find("on_hit") != line.npos;
    EXPECT_TRUE(names) << line;
    EXPECT_NE(error.code(), ExitCode::kOk);
    EXPECT_NE(error.code(), ExitCode::kUsage);
}

INSTANTIATE_TEST_SUITE_P(Abi, EachReason, testing::ValuesIn(kKnown), [](const auto& info) {
    std::string name = info.param.name;
    for (char& c : name)
        c = c == '-' ? '_' : c;
    return name;
});

TEST(Reason, addresses_are_named_by_what_they_are) {
    EXPECT_EQ(describe(DJPROBE_REASON_BRANCH_INTO_REGION, 0xffffffff81002012, 0xffffffff8100104b),
              "a branch lands inside the 5 bytes (vfs_read.cold+0x12 -> vfs_read+0x4b)");
    EXPECT_EQ(describe(DJPROBE_REASON_FIXUP_INTO_REGION, 0, 0xffffffff8100104b),
              "an exception fixup lands inside the 5 bytes (at vfs_read+0x4b)");
    EXPECT_EQ(describe(DJPROBE_REASON_CALL_IN_REGION, 0xffffffff81001002),
              "a call in the middle of the 5 bytes would return into them (at vfs_read+0x2)");
    EXPECT_EQ(describe(DJPROBE_REASON_NOT_BOUNDARY, 0xffffffff81001000, 0xffffffff81001005),
              "not the first byte of an instruction; the nearest are vfs_read+0x0 and "
              "vfs_read+0x5");
    EXPECT_EQ(describe(DJPROBE_REASON_PAST_END, 0xffffffff81001000, 0xffffffff810010c2),
              "past the end of the function, which is 0xc2 bytes long");
    EXPECT_EQ(describe(DJPROBE_REASON_MODE_INT3), "a probe at this site asked for int3");
}

TEST(Reason, reserved_instruction_tells_its_own_reason) {
    EXPECT_EQ(
        describe(DJPROBE_REASON_REGION_RESERVED, 0xffffffff81001002, DJPROBE_REASON_JUMP_LABEL),
        "an instruction inside the 5 bytes is reserved (at vfs_read+0x2: a jump label, which "
        "the kernel rewrites)");
}

TEST(Reason, memory_that_may_fault_leaves_a_way) {
    const auto number = DJPROBE_REASON_OPERAND_MAY_FAULT;
    EXPECT_EQ(describe(number, 0, DJPROBE_ACTION_IF_GT),
              "an operand in memory that the probed instruction itself does not read or write: "
              "reading it might fault (action 1 of the list, IF_GT): 'probeload count --blocks' "
              "shows what instructions read, 'probeload trace' reads such memory by a program");
}

TEST(Reason, memory_that_may_fault_is_named_as_the_user_names_it) {
    const auto operand = [](djprobe_action action) {
        Symbolizer names = symbolizer();
        const std::string text = describe_reason(
            {DJPROBE_REASON_OPERAND_MAY_FAULT, {0, action.operation}, action}, names);
        const std::size_t open = text.find(" (") + 2;
        return text.substr(open, text.find("): ") - open);
    };
    constexpr auto kMemory = DJPROBE_ACTION_MEMORY;
    EXPECT_EQ(operand({DJPROBE_ACTION_LOG2, 7, 4, kMemory, 0, 0x44}), "0x44(%rdi):4");
    EXPECT_EQ(operand({DJPROBE_ACTION_ADD, 12, 8, kMemory, 0, ~7ULL}), "-0x8(%r12)");
    EXPECT_EQ(operand({DJPROBE_ACTION_IF_GT, 4, 8, kMemory, 0, 3}), "(%rsp)");
    EXPECT_EQ(operand({DJPROBE_ACTION_IF_EQ, 1, 1, kMemory, 0xfffffff0, 3}), "-0x10(%rcx):1");
}

TEST(Reason, newer_than_the_loader) {
    EXPECT_EQ(describe(9999), "reason 9999, newer than this probeload");
    EXPECT_EQ(reason_name(9999), "reason-9999");
}

TEST(Refusal, no_such_function_suggests_names) {
    const Error error = refuse("vfs_raed", DJPROBE_REASON_NO_SUCH_SYMBOL, ENOENT);
    EXPECT_STREQ(error.what(), "vfs_raed: no such function; did you mean vfs_read, vfs_readv?");
    EXPECT_EQ(error.code(), ExitCode::kNoSuchSite);
}

TEST(Refusal, no_such_function_but_data) {
    EXPECT_STREQ(refuse("vfs_caches", DJPROBE_REASON_NO_SUCH_SYMBOL, ENOENT).what(),
                 "vfs_caches: no such function; the symbol is data");
}

TEST(Refusal, data_that_the_module_takes_for_a_place) {
    const Error error = refuse("vfs_caches", DJPROBE_REASON_NOT_TEXT, EACCES);
    EXPECT_STREQ(error.what(), "vfs_caches: no such function; the symbol is data");
    EXPECT_EQ(error.code(), ExitCode::kNoSuchSite);
}

TEST(Refusal, function_of_a_module_that_is_not_loaded) {
    EXPECT_STREQ(refuse("xfs:xfs_read", DJPROBE_REASON_NO_SUCH_SYMBOL, ENOENT).what(),
                 "xfs:xfs_read: no module xfs is loaded: modprobe xfs");
    EXPECT_STREQ(refuse("xfs:vfs_read", DJPROBE_REASON_NO_SUCH_SYMBOL, ENOENT).what(),
                 "xfs:vfs_read: no module xfs is loaded; did you mean vfs_read?");
    EXPECT_STREQ(refuse("ext4:twim", DJPROBE_REASON_NO_SUCH_SYMBOL, ENOENT).what(),
                 "ext4:twim: no such function; did you mean twin, ext4:twin?");
}

TEST(Refusal, of_a_whole_pattern_names_it) {
    EXPECT_STREQ(refuse("vfs_*", DJPROBE_REASON_LOCKDOWN, EPERM).what(),
                 "vfs_*: kernel lockdown forbids probes");
    EXPECT_STREQ(refuse("vfs_*", DJPROBE_REASON_NONE, ENOSPC).what(),
                 "vfs_*: cannot attach: No space left on device");
    EXPECT_EQ(refuse("vfs_*", DJPROBE_REASON_NONE, EMFILE).what(),
              "vfs_*: " + out_of_descriptors());
}

TEST(Refusal, no_such_function_and_nothing_like_it) {
    EXPECT_STREQ(refuse("frobnicate_widget", DJPROBE_REASON_NO_SUCH_SYMBOL, ENOENT).what(),
                 "frobnicate_widget: no such function among the symbols of the running kernel "
                 "(inlined everywhere, or of a module?)");
}

TEST(Refusal, ambiguous_name_lists_the_candidates) {
    const Error error = refuse("twin", DJPROBE_REASON_AMBIGUOUS_SYMBOL, ENOTUNIQ,
                               0xffffffff81003000, 0xffffffff81004000);
    EXPECT_STREQ(
        error.what(),
        "twin: several functions have this name: twin (0xffffffff81003000), twin "
        "(0xffffffff81004000), ext4:twin (0xffffffffc0000000); name one by its place: "
        "_text+OFFSET, or 0xADDRESS (of attach and explain --address); trace also takes FILE:LINE");
    EXPECT_EQ(error.code(), ExitCode::kNoSuchSite);
}

TEST(Refusal, ambiguous_name_without_kallsyms_still_has_two_addresses) {
    Symbolizer names(Kallsyms::parse(""));
    const Error error = refusal(parse_function("twin"), "p",
                                {DJPROBE_REASON_AMBIGUOUS_SYMBOL, {0x10, 0x20}}, ENOTUNIQ, names);
    EXPECT_STREQ(
        error.what(),
        "twin: several functions have this name: 0x10, 0x20; name one by its place: _text+OFFSET, "
        "or 0xADDRESS (of attach and explain --address); trace also takes FILE:LINE");
}

TEST(Refusal, ambiguous_name_tells_the_places_that_outlive_a_boot) {
    Symbolizer names(
        Kallsyms::parse("ffffffff81000000 T _text\nffffffff81000010 t twin\n"
                        "ffffffff81000020 t twin\n"));
    const Error error = refusal(parse_function("twin"), "p", {DJPROBE_REASON_AMBIGUOUS_SYMBOL, {}},
                                ENOTUNIQ, names);
    EXPECT_THAT(error.what(), testing::HasSubstr("twin (0xffffffff81000010, _text+0x10), twin "
                                                 "(0xffffffff81000020, _text+0x20); "));
}

TEST(Refusal, not_on_a_boundary) {
    const Error error = refuse("vfs_read+0x3", DJPROBE_REASON_NOT_BOUNDARY, EILSEQ,
                               0xffffffff81001000, 0xffffffff81001005);
    EXPECT_STREQ(error.what(),
                 "vfs_read+0x3: not the first byte of an instruction; the nearest are "
                 "vfs_read+0x0 and vfs_read+0x5");
    EXPECT_EQ(error.code(), ExitCode::kNoSuchSite);
}

TEST(Refusal, past_the_end) {
    const Error error = refuse("vfs_read+0x4000", DJPROBE_REASON_PAST_END, ERANGE,
                               0xffffffff81001000, 0xffffffff810010c2);
    EXPECT_STREQ(error.what(),
                 "vfs_read+0x4000: past the end of the function, which is 0xc2 bytes long");
    EXPECT_EQ(error.code(), ExitCode::kNoSuchSite);
}

TEST(Refusal, blacklisted_and_init_text_are_refused_sites) {
    const Error blacklisted = refuse("do_int3", DJPROBE_REASON_BLACKLISTED, EACCES);
    EXPECT_STREQ(blacklisted.what(),
                 "do_int3: refused: on the kernel's kprobe blacklist (noinstr or NOKPROBE)");
    EXPECT_EQ(blacklisted.code(), ExitCode::kRefusedSite);
    const Error init = refuse("start_kernel", DJPROBE_REASON_INIT_TEXT, EACCES);
    EXPECT_STREQ(init.what(), "start_kernel: refused: in init text, which is freed after boot");
    EXPECT_EQ(init.code(), ExitCode::kRefusedSite);
}

TEST(Refusal, program_of_the_wrong_kind_is_named) {
    const Error error = refuse("vfs_read", DJPROBE_REASON_PROG_SLEEPABLE, EOPNOTSUPP);
    EXPECT_STREQ(error.what(), "program 'on_hit': a sleepable program cannot run in a probe");
    EXPECT_EQ(error.code(), ExitCode::kWrongProgram);
}

TEST(Refusal, busy_sites_and_lockdown_have_their_own_codes) {
    EXPECT_EQ(refuse("f", DJPROBE_REASON_FOREIGN_PATCH, EBUSY).code(), ExitCode::kBusySite);
    EXPECT_EQ(refuse("f", DJPROBE_REASON_OVERLAP, EBUSY).code(), ExitCode::kBusySite);
    EXPECT_EQ(refuse("f", DJPROBE_REASON_MODULE_LEAVING, EBUSY).code(), ExitCode::kBusySite);
    EXPECT_EQ(refuse("f", DJPROBE_REASON_LOCKDOWN, EPERM).code(), ExitCode::kNoPermission);
    EXPECT_EQ(refuse("f", DJPROBE_REASON_ADDRESSES_HIDDEN, EPERM).code(), ExitCode::kNoPermission);
    EXPECT_EQ(refuse("f", DJPROBE_REASON_NO_MEMORY, ENOMEM).code(), ExitCode::kFailure);
}

TEST(Refusal, without_a_reason_the_errno_speaks) {
    const Error capabilities = refuse("vfs_read", DJPROBE_REASON_NONE, EPERM);
    EXPECT_EQ(capabilities.code(), ExitCode::kNoPermission);
    EXPECT_EQ(capabilities.what(), "vfs_read: not permitted: " + why_denied(kToProbe));
    const Error files = refuse("vfs_read", DJPROBE_REASON_NONE, EMFILE);
    EXPECT_EQ(files.code(), ExitCode::kFailure);
    EXPECT_EQ(files.what(),
              "vfs_read: " + out_of_descriptors() + ", or name functions by a pattern");
}

TEST(Refusal, where_nothing_was_to_be_attached_says_so) {
    Symbolizer names = symbolizer();
    EXPECT_STREQ(refusal(parse_function("vfs_read"), "", {}, ENOSPC, names).what(),
                 "vfs_read: the module gives no verdict: No space left on device");
}

TEST(Refusal, tail_call_is_named_with_a_way_round) {
    EXPECT_STREQ(
        refuse("vfs_read", DJPROBE_REASON_TAIL_CALL, EACCES, 0xffffffff81001012, 0xffffffff81001100)
            .what(),
        "vfs_read: refused: the function also leaves by a jump to another one: not all its returns "
        "are its own (vfs_read+0x12 -> vfs_readv+0x0); --ret-mode shadow sees those returns, "
        "too");
}

TEST(Refusal, tail_call_to_who_knows_where) {
    EXPECT_STREQ(
        refuse("vfs_read", DJPROBE_REASON_TAIL_CALL, EACCES, 0xffffffff81001012).what(),
        "vfs_read: refused: the function also leaves by a jump to another one: not all its returns "
        "are its own (at vfs_read+0x12); --ret-mode shadow sees those returns, too");
}

}  // namespace
}  // namespace djprobe::loader
