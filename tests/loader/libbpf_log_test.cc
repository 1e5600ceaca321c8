// SPDX-License-Identifier: GPL-2.0
#include "object/libbpf_log.h"

#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include <cstdarg>
#include <cstdio>
#include <string>
#include <thread>

namespace djprobe::loader {
namespace {

constexpr const char* kLog =
    "libbpf: prog 'on_hit': BPF program load failed: Permission denied\n"
    "libbpf: prog 'on_hit': -- BEGIN PROG LOAD LOG --\n"
    "0: R1=ctx(off=0,imm=0) R10=fp0\n"
    "; return *(int *)0;\n"
    "0: (b7) r1 = 0                        ; R1_w=0\n"
    "1: (61) r0 = *(u32 *)(r1 +0)\n"
    "R1 invalid mem access 'scalar'\n"
    "processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0\n"
    "-- END PROG LOAD LOG --\n"
    "libbpf: prog 'on_hit': failed to load: -13\n"
    "libbpf: failed to load object 'x'\n";

TEST(VerifierTail, last_lines_without_statistics) {
    EXPECT_EQ(verifier_tail(kLog, 2),
              "1: (61) r0 = *(u32 *)(r1 +0)\n"
              "R1 invalid mem access 'scalar'");
}

// As on Linux 7.3.
constexpr const char* kExplained =
    "libbpf: prog 'on_hit': -- BEGIN PROG LOAD LOG --\n"
    "0: (85) call bpf_get_current_task#35          ; R0=scalar()\n"
    "1: (61) r0 = *(u32 *)(r0 +0)\n"
    "R0 invalid mem access 'scalar'\n"
    "\n"
    "Verification failed: Register Type Safety: Invalid dereference\n"
    "\n"
    "Reason:\n"
    "  R0 is an integer scalar here, not a pointer to memory.\n"
    "\n"
    "Suggestion:\n"
    "  Preserve a pointer-valued register where needed.\n"
    "\n"
    "processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0\n"
    "-- END PROG LOAD LOG --\n";

TEST(VerifierTail, ends_where_the_report_about_it_begins) {
    EXPECT_EQ(verifier_tail(kExplained, 2),
              "1: (61) r0 = *(u32 *)(r0 +0)\n"
              "R0 invalid mem access 'scalar'");
}

TEST(VerifierTail, a_report_alone_is_told) {
    EXPECT_EQ(verifier_tail("-- BEGIN PROG LOAD LOG --\n"
                            "\nVerification failed: Register Type Safety: Invalid dereference\n",
                            2),
              "Verification failed: Register Type Safety: Invalid dereference");
}

TEST(VerifierTail, short_log_is_whole) {
    const std::string tail = verifier_tail(kLog, 100);
    EXPECT_EQ(tail.rfind("0: R1=ctx", 0), 0U) << tail;
    EXPECT_EQ(tail.find("processed"), tail.npos);
    EXPECT_EQ(tail.find("libbpf"), tail.npos);
}

TEST(VerifierTail, empty_when_the_verifier_did_not_speak) {
    EXPECT_EQ(verifier_tail("libbpf: map 'events': failed to create: Invalid argument\n", 5), "");
    EXPECT_EQ(verifier_tail("", 5), "");
}

TEST(RejectedProgram, is_the_one_whose_log_is_shown) {
    EXPECT_EQ(rejected_program(kLog), "on_hit");
    EXPECT_EQ(rejected_program("libbpf: prog 'first': relocated\n" + std::string(kLog)), "on_hit");
    EXPECT_EQ(rejected_program("libbpf: nothing of the kind\n"), "?");
}

TEST(VerifierTail, log_without_its_end_mark) {
    EXPECT_EQ(verifier_tail("-- BEGIN PROG LOAD LOG --\nlast words", 5), "last words");
}

TEST(FirstWarning, is_the_first_of_libbpfs_lines) {
    EXPECT_EQ(first_warning(kLog), "prog 'on_hit': BPF program load failed: Permission denied");
    EXPECT_EQ(first_warning("no libbpf line\n"), "");
}

std::string heard;

int hear(libbpf_print_level, const char* format, std::va_list arguments) {
    char line[256];
    std::vsnprintf(line, sizeof line, format, arguments);
    heard += line;
    return 0;
}

void open_nothing() {
    EXPECT_EQ(bpf_object__open_file("/nonexistent.bpf.o", nullptr), nullptr);
}

TEST(LibbpfLog, keeps_what_is_printed_for_its_thread_only) {
    const libbpf_print_fn_t before = libbpf_set_print(hear);
    {
        const LibbpfLog log(false);
        std::thread(open_nothing).join();
        EXPECT_NE(heard.find("/nonexistent.bpf.o"), heard.npos);
        EXPECT_EQ(log.text(), "");
        heard.clear();
        open_nothing();
        EXPECT_NE(log.text().find("/nonexistent.bpf.o"), std::string::npos);
        EXPECT_EQ(heard, "");
    }
    EXPECT_EQ(libbpf_set_print(before), hear);
}

TEST(LibbpfLog, of_several_the_last_one_keeps_it) {
    const LibbpfLog outer(false);
    {
        const LibbpfLog inner(false);
        open_nothing();
        EXPECT_NE(inner.text(), "");
    }
    EXPECT_EQ(outer.text(), "");
    open_nothing();
    EXPECT_NE(outer.text(), "");
}

}  // namespace
}  // namespace djprobe::loader
