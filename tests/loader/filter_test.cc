// SPDX-License-Identifier: GPL-2.0
// What stands in front of a program, run here for tasks that are made up.
#include "object/filter.h"

#include <gtest/gtest.h>

#include <cstring>

#include "expect_error.h"
#include "object/filter_handlers.h"

namespace djprobe::loader {
namespace {

struct Task {
    std::uint32_t process = 10, task = 11, user = 1000;
    const char* name = "worker";
    std::vector<std::size_t> cgroups{};
};

/// Runs the few instructions that a filter has. R1 is the context, which the program finds.
class Machine {
  public:
    explicit Machine(const Task& task) : task_(task) { registers_[1] = kContext; }

    /// True where the code reaches its own end; it may have ended with 0 before.
    bool passes(const std::vector<bpf_insn>& code) {
        std::size_t at = 0;
        for (int steps = 0; at < code.size(); ++steps) {
            EXPECT_LT(steps, 1000);
            if (code[at].code == (BPF_JMP | BPF_EXIT)) {
                EXPECT_EQ(registers_[0], 0U);
                return false;
            }
            at = step(code, at);
        }
        EXPECT_EQ(registers_[1], kContext);
        return true;
    }

  private:
    static constexpr std::uint64_t kContext = 0xc0de;

    std::size_t step(const std::vector<bpf_insn>& code, std::size_t at) {
        const bpf_insn& insn = code[at];
        std::uint64_t& to = registers_[insn.dst_reg];
        const std::uint64_t from = registers_[insn.src_reg];
        const auto wide = static_cast<std::uint64_t>(static_cast<std::int64_t>(insn.imm));
        const std::size_t next = at + 1, target = next + static_cast<std::size_t>(insn.off);
        switch (insn.code) {
            case BPF_ALU64 | BPF_MOV | BPF_X:
                to = from;
                return next;
            case BPF_ALU64 | BPF_MOV | BPF_K:
                to = wide;
                return next;
            case BPF_ALU64 | BPF_ADD | BPF_K:
                to += wide;
                return next;
            case BPF_ALU64 | BPF_RSH | BPF_K:
                to >>= wide;
                return next;
            case BPF_ALU64 | BPF_AND | BPF_X:
                to &= from;
                return next;
            case BPF_LDX | BPF_DW | BPF_MEM:
                EXPECT_EQ(insn.src_reg, BPF_REG_10);
                std::memcpy(&to, stack_ + 16 + insn.off, sizeof to);
                return next;
            case BPF_LD | BPF_DW | BPF_IMM:
                to = static_cast<std::uint32_t>(insn.imm) |
                     std::uint64_t{static_cast<std::uint32_t>(code[next].imm)} << 32;
                return next + 1;
            case BPF_JMP | BPF_JA:
                return target;
            case BPF_JMP32 | BPF_JEQ | BPF_K:
                return static_cast<std::uint32_t>(to) == static_cast<std::uint32_t>(insn.imm)
                           ? target
                           : next;
            case BPF_JMP | BPF_JNE | BPF_X:
                return to != from ? target : next;
            case BPF_JMP | BPF_CALL:
                registers_[0] = call(insn.imm);
                for (int clobbered = 1; clobbered <= 5; ++clobbered)
                    registers_[clobbered] = 0xdead;
                return next;
            default:
                ADD_FAILURE() << "instruction " << int{insn.code};
                return code.size();
        }
    }

    std::uint64_t call(int helper) {
        switch (helper) {
            case BPF_FUNC_get_current_pid_tgid:
                return std::uint64_t{task_.process} << 32 | task_.task;
            case BPF_FUNC_get_current_uid_gid:
                return std::uint64_t{77} << 32 | task_.user;
            case BPF_FUNC_get_current_comm:
                EXPECT_EQ(registers_[1], registers_[10] - 16);
                std::memset(stack_, 0xee, sizeof stack_);  // behind the NUL may be anything
                std::memcpy(stack_, task_.name, std::strlen(task_.name) + 1);
                return 0;
            case BPF_FUNC_current_task_under_cgroup:
                for (const std::size_t group : task_.cgroups)
                    if (group == registers_[2]) return 1;
                return 0;
            default:
                ADD_FAILURE() << "helper " << helper;
                return 0;
        }
    }

    const Task& task_;
    std::uint64_t registers_[11] = {};
    std::uint8_t stack_[16] = {};
};

bool passes(const HitFilter& filter, const Task& task) {
    return Machine(task).passes(filter_code(filter));
}

HitFilter of_names(std::vector<std::string> names) {
    HitFilter filter;
    filter.names = std::move(names);
    return filter;
}

TEST(FilterTest, IsNothingWhereAllPass) {
    EXPECT_TRUE(filter_code({}).empty());
}

TEST(FilterTest, ProcessesAndTasks) {
    HitFilter filter;
    filter.processes = {9, 10};
    EXPECT_TRUE(passes(filter, {}));
    EXPECT_FALSE(passes(filter, {.process = 11}));
    filter.tasks = {12};
    EXPECT_FALSE(passes(filter, {}));
    EXPECT_TRUE(passes(filter, {.task = 12}));
    EXPECT_FALSE(passes(filter, {.process = 8, .task = 12}));
}

TEST(FilterTest, TheExcludedOnes) {
    HitFilter filter;
    filter.excluded = {10, 20};
    EXPECT_FALSE(passes(filter, {}));
    EXPECT_FALSE(passes(filter, {.process = 20}));
    EXPECT_TRUE(passes(filter, {.process = 21, .task = 20}));
}

TEST(FilterTest, Users) {
    HitFilter filter;
    filter.users = {0, UINT32_MAX};
    EXPECT_TRUE(passes(filter, {.user = 0}));
    EXPECT_TRUE(passes(filter, {.user = UINT32_MAX}));
    EXPECT_FALSE(passes(filter, {}));
}

TEST(FilterTest, Names) {
    EXPECT_TRUE(passes(of_names({"worker"}), {}));
    EXPECT_FALSE(passes(of_names({"worke"}), {}));
    EXPECT_FALSE(passes(of_names({"worker2"}), {}));
    EXPECT_TRUE(passes(of_names({"head", "worker"}), {}));
    EXPECT_TRUE(passes(of_names({"exactly8"}), {.name = "exactly8"}));
    EXPECT_FALSE(passes(of_names({"exactly8"}), {.name = "exactly80"}));
    EXPECT_TRUE(passes(of_names({"fifteen-letters"}), {.name = "fifteen-letters"}));
    EXPECT_FALSE(passes(of_names({"fifteen-letters"}), {.name = "fifteen-letterz"}));
}

TEST(FilterTest, ControlGroups) {
    HitFilter filter;
    filter.cgroups = 2;
    EXPECT_TRUE(passes(filter, {.cgroups = {1}}));
    EXPECT_TRUE(passes(filter, {.cgroups = {0}}));
    EXPECT_FALSE(passes(filter, {}));
}

TEST(FilterTest, AllThatIsAskedMustBeSo) {
    HitFilter filter = of_names({"worker"});
    filter.users = {1000};
    filter.processes = {10};
    filter.cgroups = 1;
    EXPECT_TRUE(passes(filter, {.cgroups = {0}}));
    EXPECT_FALSE(passes(filter, {.user = 0, .cgroups = {0}}));
    EXPECT_FALSE(passes(filter, {.process = 11, .cgroups = {0}}));
    EXPECT_FALSE(passes(filter, {.name = "other", .cgroups = {0}}));
    EXPECT_FALSE(passes(filter, {}));
}

TEST(FilterTest, WhereTheProbeHasConditionsTheProgramHasTheRest) {
    Filters filters{of_names({"worker"})};
    filters.all.users = filters.rest.users = {1000};
    filters.with_conditions = {"behind"};
    EXPECT_FALSE(passes(filters.of("other"), {.name = "another"}));
    EXPECT_TRUE(passes(filters.of("behind"), {.user = 1000, .name = "another"}));
    EXPECT_FALSE(passes(filters.of("behind"), {.user = 7, .name = "another"}));
}

TEST(FilterTest, WhatIsNoControlGroup) {
    EXPECT_EQ(expect_error(ExitCode::kUsage, [] { make_cgroup_map({"/no/such"}); }),
              "--cgroup /no/such: No such file or directory");
    EXPECT_EQ(expect_error(ExitCode::kUsage, [] { make_cgroup_map({"/proc"}); }),
              "--cgroup /proc: not a control group of version 2: name a folder under "
              "/sys/fs/cgroup");
}

}  // namespace
}  // namespace djprobe::loader
