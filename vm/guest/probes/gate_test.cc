// SPDX-License-Identifier: GPL-2.0
// A CPU that comes up has no gate for int3 until it has loaded its interrupt table. What it runs
// until then is found here in the kernel's own text, and none of it may be a site: a new kernel's
// new function, which arch/x86/fragile_names.h does not know, fails this.

#include <algorithm>
#include <string_view>

#include "../symbols.h"
#include "arch/x86/closure.h"
#include "fixture.h"
#include "kernel/kcore.h"

namespace djprobe::vm {
namespace {

/// Runs behind the gate, before a CPU is said dead, with preemption on, when all is lost, or never
/// (what calls __fentry__ is a weak function that another one stands for).
constexpr std::string_view kLeaves[] = {"start_secondary",
                                        "idle_task_exit",
                                        "cpu_init_secondary",
                                        "_printk",
                                        "__warn_printk",
                                        "panic",
                                        "sev_es_terminate",
                                        "preempt_schedule_notrace_thunk",
                                        "__fentry__",
                                        "__stack_chk_fail",
                                        "__ubsan_handle_out_of_bounds"};
/// The first of them that start_secondary() calls ends in loading the table.
constexpr std::string_view kGates[] = {"cpu_init_secondary", "cpu_init_exception_handling"};

/// What x86::find_closure() asks.
class Text {
  public:
    Text() : symbols_(Kallsyms::read()), functions_(kernel_functions(symbols_)) {}

    [[nodiscard]] u64 address_of(std::string_view name) const {
        const auto found = symbols_.find(name);
        return found.empty() ? 0 : found.front().address;
    }
    [[nodiscard]] std::string name_of(u64 address) const { return symbols_.describe(address); }
    bool start_of(u64 address, u64& start) const {
        const auto next = std::upper_bound(functions_.begin(), functions_.end(), address);
        if (next == functions_.begin() || next == functions_.end() || freed_.contains(address))
            return false;
        start = *std::prev(next);
        return true;
    }
    bool function_at(u64 address, Code& out) const {
        u64 start;
        if (!start_of(address, start)) return false;
        const u64 end = *std::upper_bound(functions_.begin(), functions_.end(), address);
        bytes_ = memory_.read(start, end - start);
        out = {start, {bytes_.data(), bytes_.size()}};
        return true;
    }
    [[nodiscard]] bool is_leaf(u64 start) const {
        return std::ranges::any_of(
            kLeaves, [&](std::string_view name) { return address_of(name) == start; });
    }
    [[nodiscard]] bool is_leaf(const Code& code) const { return is_leaf(code.address); }

  private:
    loader::Kcore memory_;
    Kallsyms symbols_;
    std::vector<uint64_t> functions_;
    Range freed_ = {address_of("_sinittext"), address_of("_einittext")};
    mutable std::vector<uint8_t> bytes_;
};

/// What start_secondary() calls up to the gate, with the gate.
std::vector<u64> calls_before_the_gate(const Text& text, u64& gate) {
    Code code;
    std::vector<u64> calls;
    if (!text.function_at(text.address_of("start_secondary"), code)) return calls;
    (void)x86::for_each_insn(code, code.range().end, [&](const x86::Insn& insn) {
        if (!insn.is_call() || !insn.rel_size) return true;
        calls.push_back(insn.target);
        for (const std::string_view name : kGates)
            if (text.address_of(name) == insn.target) gate = insn.target;
        return !gate;
    });
    return calls;
}

class Gate : public ProbeTest {
  protected:
    /// Of all that the roots reach.
    void expect_no_site(const Text& text, const std::vector<u64>& roots) {
        if (text.address_of("kasan_report")) GTEST_SKIP() << "all functions here call KASAN";
        u64 members[128];
        size_t count = 0;
        const Refusal unknown =
            x86::find_closure(text, {roots.data(), roots.size()}, members, count);
        std::string names;
        for (size_t i = 0; i < count; ++i)
            names += text.name_of(members[i]) + ' ';
        ASSERT_FALSE(unknown) << describe(static_cast<djprobe_reason>(unknown.reason)) << " at "
                              << text.name_of(unknown.detail[0]) << ", of " << names;
        EXPECT_GT(count, roots.size()) << names;
        for (size_t i = 0; i < count; ++i) {
            if (text.is_leaf(members[i])) continue;
            const Answer answer = device_.attach(at_address(members[i], DJPROBE_MODE_INT3));
            EXPECT_EQ(answer.error, -EACCES)
                << text.name_of(members[i]) << ": " << describe(answer.reason);
        }
    }
};

TEST_F(Gate, NothingBeforeItIsASite) {
    const Text text;
    u64 gate = 0;
    std::vector<u64> roots = calls_before_the_gate(text, gate);
    ASSERT_NE(gate, 0u) << "start_secondary() is another one: see kGates";
    for (const char* name : {"secondary_startup_64", "cpu_init_exception_handling"}) {
        ASSERT_NE(text.address_of(name), 0u) << name;
        roots.push_back(text.address_of(name));
    }
    expect_no_site(text, roots);
}

// No quiescence waits for a CPU that lies dead, and no core sync reaches it.
TEST_F(Gate, NothingThatADeadCpuRunsIsASite) {
    const Text text;
    std::vector<u64> roots;
    for (const char* name : {"native_play_dead", "cpuidle_play_dead", "acpi_idle_play_dead"})
        if (const u64 address = text.address_of(name)) roots.push_back(address);
    ASSERT_FALSE(roots.empty());
    expect_no_site(text, roots);
}

}  // namespace
}  // namespace djprobe::vm
