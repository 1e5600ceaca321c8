// SPDX-License-Identifier: GPL-2.0
// A CPU that comes up has no gate for int3 until it has loaded its interrupt table, and RCU does
// not count it until it has said so; one that goes is in neither's hands again. What it runs
// meanwhile is found here in the kernel's own text, by another walk than the module's, and none of
// it may be a site.

#include <algorithm>
#include <deque>
#include <fstream>
#include <set>
#include <string_view>

#include "../../symbols.h"
#include "../harness/fixture.h"
#include "arch/x86/insn/scan.h"
#include "kernel/kcore.h"

namespace djprobe::vm {
namespace {

using x86::Insn;

/// Prints; ends all; does nothing with preemption off; says itself what RCU is to know; does not
/// run in the idle task (task_work_add); is a weak function that another one stands for
/// (__fentry__); chooses a CPU for who has named none (sched_numa_find_nth_cpu); has not got the
/// FPU yet (kernel_fpu_begin_mask, kernel_fpu_end); is called at boot only, or not for what this
/// code prints (save_microcode_patch, pointer; see fragile_names.h).
constexpr std::string_view kLeaves[] = {"start_secondary",
                                        "_printk",
                                        "__warn_printk",
                                        "__dynamic_pr_debug",
                                        "dump_stack",
                                        "sched_numa_find_nth_cpu",
                                        "kernel_fpu_begin_mask",
                                        "kernel_fpu_end",
                                        "panic",
                                        "sev_es_terminate",
                                        "debug_locks_off",
                                        "preempt_schedule_thunk",
                                        "preempt_schedule_notrace_thunk",
                                        "task_work_add",
                                        "__xen_hypercall_setfunc",
                                        "save_microcode_patch",
                                        "pointer",
                                        "rcu_cpu_starting",
                                        "rcutree_report_cpu_starting",
                                        "rcu_report_dead",
                                        "rcutree_report_cpu_dead",
                                        "__fentry__",
                                        "__stack_chk_fail"};
/// Tracepoints; reports of checks that the compiler puts in.
constexpr std::string_view kLeafPrefixes[] = {"__SCT__tp_func_", "__ubsan_handle_"};
/// Until it calls one of them a CPU is not RCU's, and from one of those on.
constexpr std::string_view kCounted[] = {"rcu_cpu_starting", "rcutree_report_cpu_starting"};
constexpr std::string_view kUncounted[] = {"rcu_report_dead", "rcutree_report_cpu_dead"};

/// The kernel's functions as they are now.
class Text {
  public:
    Text() : symbols_(Kallsyms::read()), functions_(kernel_functions(symbols_)) {}

    [[nodiscard]] u64 address_of(std::string_view name) const {
        const auto found = symbols_.find(name);
        return found.empty() ? 0 : found.front().address;
    }
    [[nodiscard]] std::string name_of(u64 address) const { return symbols_.describe(address); }
    /// 0: no function of text that stays.
    [[nodiscard]] u64 start_of(u64 address) const {
        const auto next = std::upper_bound(functions_.begin(), functions_.end(), address);
        if (next == functions_.begin() || next == functions_.end() || freed_.contains(address))
            return 0;
        return *std::prev(next);
    }
    /// All instructions of the function that begins there.
    [[nodiscard]] std::vector<Insn> insns(u64 start) const {
        const u64 end = *std::upper_bound(functions_.begin(), functions_.end(), start);
        const std::vector<uint8_t> bytes = memory_.read(start, end - start);
        const Code code = {start, {bytes.data(), bytes.size()}};
        std::vector<Insn> all;
        (void)x86::for_each_insn(code, end, [&](const Insn& insn) {
            all.push_back(insn);
            return true;
        });
        return all;
    }
    /// Where the function leads to, in the order of its code.
    [[nodiscard]] std::vector<u64> callees(u64 start) const {
        std::vector<u64> all;
        for (const Insn& insn : insns(start))
            if (insn.rel_size)
                if (const u64 target = start_of(insn.target); target && target != start)
                    all.push_back(target);
        return all;
    }
    template <size_t N>
    [[nodiscard]] bool is_one_of(u64 start, const std::string_view (&names)[N]) const {
        return std::ranges::any_of(
            names, [&](std::string_view name) { return address_of(name) == start; });
    }
    [[nodiscard]] bool is_leaf(u64 start) const {
        const std::string name = name_of(start);
        return is_one_of(start, kLeaves) ||
               std::ranges::any_of(kLeafPrefixes, [&](std::string_view prefix) {
                   return name.starts_with(prefix);
               });
    }
    /// The roots and all that they lead to, but through leaves; those themselves not.
    [[nodiscard]] std::vector<u64> reach(const std::vector<u64>& roots, size_t most) const {
        std::vector<u64> members;
        std::set<u64> seen;
        std::deque<u64> next(roots.begin(), roots.end());
        for (; !next.empty() && members.size() < most; next.pop_front()) {
            if (!seen.insert(next.front()).second || is_leaf(next.front())) continue;
            members.push_back(next.front());
            for (const u64 callee : callees(next.front()))
                next.push_back(callee);
        }
        return members;
    }

  private:
    loader::Kcore memory_;
    Kallsyms symbols_;
    std::vector<uint64_t> functions_;
    Range freed_ = {address_of("_sinittext"), address_of("_einittext")};
};

class Gate : public ProbeTest {
  protected:
    const Text text_;

    /// Where a function calls one of `names`, among its callees.
    template <size_t N>
    size_t find_call(const std::vector<u64>& callees, const std::string_view (&names)[N]) const {
        const auto call =
            std::ranges::find_if(callees, [&](u64 to) { return text_.is_one_of(to, names); });
        return static_cast<size_t>(call - callees.begin());
    }

    /// In all that the roots reach.
    void expect_no_site(const std::vector<u64>& roots) {
        if (text_.address_of("kasan_report")) GTEST_SKIP() << "all functions here call KASAN";
        constexpr size_t kMost = 400;
        const std::vector<u64> members = text_.reach(roots, kMost);
        EXPECT_GT(members.size(), roots.size());
        ASSERT_LT(members.size(), kMost) << "the walk has left that code: see kLeaves";
        for (const u64 member : members)
            for (const Insn& insn : text_.insns(member)) {
                if (!device_.explain(at_address(insn.address, DJPROBE_MODE_INT3)).is_site())
                    continue;
                ADD_FAILURE() << text_.name_of(insn.address) << " is a site";
                break;
            }
    }
};

TEST_F(Gate, NothingBeforeItAndBeforeRcuCountsTheCpuIsASite) {
    const u64 start = text_.address_of("start_secondary");
    ASSERT_NE(start, 0u);
    std::vector<u64> roots = text_.callees(start);
    const size_t counted = find_call(roots, kCounted);
    ASSERT_LT(counted, roots.size()) << "start_secondary() is another one: see kCounted";
    roots.resize(counted);
    for (const char* name : {"secondary_startup_64", "cpu_init_exception_handling"}) {
        ASSERT_NE(text_.address_of(name), 0u) << name;
        roots.push_back(text_.address_of(name));
    }
    expect_no_site(roots);
}

// No quiescence waits for a CPU that RCU does not count, and no core sync reaches a dead one.
TEST_F(Gate, NothingThatADyingCpuRunsIsASite) {
    std::vector<u64> roots = text_.callees(text_.address_of("cpuhp_report_idle_dead"));
    const size_t uncounted = find_call(roots, kUncounted);
    ASSERT_LT(uncounted, roots.size()) << "cpuhp_report_idle_dead() is another one: see kUncounted";
    roots.erase(roots.begin(), roots.begin() + static_cast<long>(uncounted) + 1);
    for (const char* name : {"native_play_dead", "cpuidle_play_dead", "acpi_idle_play_dead"})
        if (const u64 address = text_.address_of(name)) roots.push_back(address);
    expect_no_site(roots);
}

void put_online(bool online) {
    std::ofstream file("/sys/devices/system/cpu/cpu1/online");
    file << (online ? 1 : 0);
    file.flush();
    ASSERT_TRUE(file) << "CPU 1 does not go " << (online ? "on" : "off") << "line";
}

TEST_F(Gate, ACpuGoesAndComesWithProbesOnWhatRunsBesides) {
    std::set<u64> functions;
    for (const char* name : {"start_secondary", "notify_cpu_starting", "cpuhp_report_idle_dead",
                             "play_dead_common", "take_cpu_down", "cpu_startup_entry"})
        if (const u64 root = text_.address_of(name)) {
            functions.insert(root);
            for (const u64 callee : text_.callees(root)) {
                functions.insert(callee);
                for (const u64 farther : text_.callees(callee))
                    functions.insert(farther);
            }
        }
    std::vector<djprobe_site> sites;
    for (const u64 function : functions)
        for (const Insn& insn : text_.insns(function))
            if (device_.explain(at_address(insn.address)).is_site()) {
                djprobe_site site = {};
                site.address = insn.address;
                sites.push_back(site);
                break;
            }
    EXPECT_GT(sites.size(), 50u);
    const ManyAnswer answer = device_.attach_many(sites, counter());
    ASSERT_EQ(answer.error, 0);
    (void)answer.probes.settle();
    const uint64_t before = counted();
    for (int round = 0; round < 3; ++round) {
        put_online(false);
        put_online(true);
    }
    EXPECT_GT(counted(), before);
}

}  // namespace
}  // namespace djprobe::vm
