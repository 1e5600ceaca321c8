// SPDX-License-Identifier: GPL-2.0
// Places that are no sites, and why.
#include <bpf/btf.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "../../symbols.h"
#include "../harness/fixture.h"
#include "kernel/kcore.h"

namespace djprobe::vm {
namespace {

class Sites : public ProbeTest {
  protected:
    void expect_refused(const Request& request, int error, djprobe_reason reason) const {
        const Answer answer = device_.attach(request);
        EXPECT_EQ(answer.error, error)
            << request.symbol << "+" << request.offset << " " << std::hex << request.address;
        EXPECT_EQ(describe(answer.reason), describe(reason))
            << request.symbol << "+" << request.offset << " " << std::hex << request.address;
    }
    /// One of these reasons, with EACCES.
    void expect_forbidden(const std::string& symbol, const std::set<djprobe_reason>& reasons) {
        const Answer answer = device_.attach(at(symbol, 0, DJPROBE_MODE_INT3));
        EXPECT_EQ(answer.error, -EACCES) << symbol;
        EXPECT_TRUE(reasons.contains(answer.reason)) << symbol << ": " << describe(answer.reason);
    }
    /// Those of them that this kernel has, which are most.
    void expect_all_forbidden(const std::vector<const char*>& symbols,
                              const std::set<djprobe_reason>& reasons) {
        size_t asked = 0;
        for (const char* symbol : symbols) {
            if (!address_of(symbol)) {
                std::printf("this kernel has no %s\n", symbol);
                continue;
            }
            expect_forbidden(symbol, reasons);
            ++asked;
        }
        EXPECT_GT(asked * 4, symbols.size() * 3);
    }
};

// Before the recursion guard nothing could stop an int3 from hitting itself.
// Kernel commit 819f5f8cfbcf: what handles the int3 could be traced itself.
TEST_F(Sites, TheTrapPath) {
    expect_all_forbidden({"notify_die", "atomic_notifier_call_chain", "__rcu_read_lock",
                          "__rcu_read_unlock", "irqentry_nmi_enter", "irqentry_nmi_exit",
                          "exc_int3", "kprobe_int3_handler", "poke_int3_handler", "get_kprobe"},
                         {DJPROBE_REASON_TRAP_PATH, DJPROBE_REASON_BLACKLISTED});
}

// Once a tracer is attached to notify_die(), they run before our guard: an int3 there would hit
// itself.
TEST_F(Sites, WhatTracesTheTrapPath) {
    expect_all_forbidden(
        {"function_trace_call", "function_stack_trace_call", "perf_ftrace_function_call",
         "arch_ftrace_ops_list_func", "prepare_ftrace_return", "__bpf_prog_enter_recur",
         "__bpf_prog_exit_recur", "rcu_is_watching", "trace_clock_local", "sched_clock",
         "trace_graph_return", "bpf_prog_inc_misses_counter", "bpf_trace_run1",
         "trace_event_buffer_reserve", "ring_buffer_lock_reserve"},
        {DJPROBE_REASON_TRAP_PATH, DJPROBE_REASON_BLACKLISTED});
    // What the graph tracer and those of latencies call before they guard themselves. Not every
    // version or build has them.
    for (const char* symbol :
         {"fgraph_get_task_var", "fgraph_pid_func", "fgraph_reserve_data", "fgraph_retrieve_data",
          "function_args_trace_call", "ftrace_lookup_ip", "ftrace_ops_test", "wakeup_tracer_call",
          "wakeup_graph_entry", "func_prolog_preempt_disable",
          // What a tracepoint of the path runs outside its guards.
          "tracing_gen_ctx_irq_test", "trace_buffer_unlock_commit_regs", "__ftrace_trace_stack",
          "stacktrace_trigger", "traceon_trigger", "tracer_tracing_is_on", "perf_tp_event",
          "trace_clock_jiffies", "ktime_get_mono_fast_ns", "ktime_get_boot_fast_ns", "read_tsc",
          "event_hist_trigger", "tracing_map_insert", "hist_enable_trigger",
          "__probestub_notifier_run", "eprobe_trigger_func", "get_eprobe_size",
          "copy_from_kernel_nofault", "ftrace_caller_end", "ftrace_regs_caller_end",
          // And the walk of the stack among these, with what traces its functions.
          "stack_trace_save", "arch_stack_walk", "stack_trace_consume_entry", "unwind_next_frame",
          "kernel_text_address", "bpf_ksym_find", "trace_function", "__trace_graph_return",
          // What a command of set_ftrace_filter runs.
          "ftrace_stacktrace", "ftrace_traceoff_count", "ftrace_dump_probe", "event_enable_probe",
          "ftrace_func_mapper_find_ip"})
        if (address_of(symbol))
            expect_forbidden(symbol, {DJPROBE_REASON_TRAP_PATH, DJPROBE_REASON_BLACKLISTED});
}

// The kernel copies or rewrites them, or enters them without a gate for int3.
TEST_F(Sites, FragileText) {
    for (const char* symbol : {"core_restore_code",
                               "ftrace_caller",
                               "ftrace_call",
                               "ftrace_regs_caller",
                               "ftrace_regs_call",
                               "machine_kexec",
                               "start_secondary",
                               "cr4_init",
                               "restore_processor_state",
                               "do_suspend_lowlevel",
                               "hibernation_snapshot",
                               "early_setup_idt",
                               "setup_ghcb",
                               "native_load_tr_desc",
                               "native_write_msr",
                               "native_write_cr3",
                               "cpuhp_report_idle_dead",
                               "native_play_dead",
                               "hlt_play_dead",
                               "cpuidle_play_dead",
                               "acpi_idle_play_dead",
                               "common_startup_64",
                               "load_percpu_segment",
                               "__traceiter_write_msr",
                               "cpuidle_get_cpu_driver",
                               "cpu_init",
                               "ret_from_fork",
                               "ret_from_fork_asm",
                               "xen_iret",
                               "xen_entry_SYSCALL_64",
                               "xenpv_restore_regs_and_return_to_usermode",
                               "soft_restart_cpu"})
        if (address_of(symbol)) expect_forbidden(symbol, {DJPROBE_REASON_FRAGILE_TEXT});
    EXPECT_NE(address_of("start_secondary"), 0U) << "an unexpected kernel";
    // Newer kernels have them behind their text.
    for (const char* symbol : {"relocate_kernel", "identity_mapped", "swap_pages"})
        if (const uint64_t address = address_of(symbol))
            expect_forbidden(symbol, {address < address_of("_etext") ? DJPROBE_REASON_FRAGILE_TEXT
                                                                     : DJPROBE_REASON_NOT_TEXT});
    // Two have the name; one is what a CPU that comes up calls.
    const Kallsyms now = Kallsyms::read();
    const auto same = now.find("cr4_set_bits");
    const auto is_fragile = [&](const Symbol& symbol) {
        const Answer answer = device_.attach(at_address(symbol.address, DJPROBE_MODE_INT3));
        return answer.error == -EACCES && answer.reason == DJPROBE_REASON_FRAGILE_TEXT;
    };
    EXPECT_TRUE(same.empty() || std::ranges::any_of(same, is_fragile));
}

// A jump would not tell RCU.
TEST_F(Sites, WhatTheIdleLoopRunsWithRcuOff) {
    size_t asked = 0;
    for (const char* symbol : {"arch_cpu_idle", "cpuidle_enter_state", "default_enter_idle"}) {
        if (!address_of(symbol)) continue;
        expect_forbidden(symbol, {DJPROBE_REASON_FRAGILE_TEXT, DJPROBE_REASON_IDLE_TEXT,
                                  DJPROBE_REASON_BLACKLISTED});
        ++asked;
    }
    EXPECT_GT(asked, 0u) << "an unexpected kernel";
}

// With preempt=full the detour's own preempt_enable() led back to its beginning for ever. Later
// kernels have it inlined.
TEST_F(Sites, TheHelperOfPreemptEnable) {
    const uint64_t helper = address_of("preempt_schedule_common");
    if (!helper) GTEST_SKIP() << "this kernel has none";
    expect_forbidden("preempt_schedule_common", {DJPROBE_REASON_FRAGILE_TEXT});
}

TEST_F(Sites, CodeThatMustNotBeTraced) {
    expect_all_forbidden({"asm_exc_page_fault", "do_syscall_64", "entry_SYSCALL_64",
                          "irqentry_enter", "error_entry", "exc_nmi"},
                         {DJPROBE_REASON_BLACKLISTED});
}

// Kernel commits 9e667624c291, 2bee6d16e437: probes in init text that had been freed.
TEST_F(Sites, InitText) {
    expect_refused(at("start_kernel"), -EACCES, DJPROBE_REASON_INIT_TEXT);
    expect_refused(at_address(address_of("start_kernel")), -EACCES, DJPROBE_REASON_INIT_TEXT);
}

TEST_F(Sites, OurOwnModule) {
    for (const char* symbol : {"djprobe:djk_hit", "djprobe:djp_attach", "djprobe:djk_text_write"})
        expect_refused(at(symbol), -EACCES, DJPROBE_REASON_OWN_TEXT);
}

TEST_F(Sites, NamesThatAreNone) {
    expect_refused(at("no_such_function_anywhere"), -ENOENT, DJPROBE_REASON_NO_SUCH_SYMBOL);
    // Data has a name, too.
    const Answer data = device_.attach(at("jiffies"));
    EXPECT_NE(data.error, 0);
    EXPECT_LT(data.reason, DJPROBE_REASON_FIRST_JUMP) << describe(data.reason);
}

TEST_F(Sites, NamesThatAreSeveral) {
    const Kallsyms now = Kallsyms::read();
    std::map<std::string, std::vector<uint64_t>> functions;
    for (const Symbol& symbol : now.symbols())
        if (symbol.module.empty() && symbol.type == 't')
            functions[std::string(symbol.name)].push_back(symbol.address);
    const uint64_t begin = address_of("_stext"), end = address_of("_etext");
    const auto is_text = [&](uint64_t address) { return address >= begin && address < end; };
    int asked = 0;
    for (const auto& [name, addresses] : functions) {
        if (addresses.size() < 2 || !std::ranges::all_of(addresses, is_text)) continue;
        const Answer answer = device_.attach(at(name));
        if (answer.reason == DJPROBE_REASON_INIT_TEXT) continue;
        EXPECT_EQ(answer.error, -ENOTUNIQ) << name;
        EXPECT_EQ(describe(answer.reason), describe(DJPROBE_REASON_AMBIGUOUS_SYMBOL)) << name;
        EXPECT_NE(answer.detail[0], answer.detail[1]) << name;
        for (const uint64_t candidate : answer.detail)
            EXPECT_NE(std::find(addresses.begin(), addresses.end(), candidate), addresses.end())
                << name;
        if (++asked == 10) break;
    }
    EXPECT_EQ(asked, 10);
}

TEST_F(Sites, WithinAnInstructionBothNeighboursAreNamedAndWork) {
    const uint64_t start = address_of("rw_verify_area");
    const djprobe_query entry = device_.must_attach(at("rw_verify_area")).query();
    int refused = 0;
    for (uint64_t offset = entry.offset + 1; offset < entry.offset + 24; ++offset) {
        const Answer answer = device_.attach(at("rw_verify_area", offset, DJPROBE_MODE_INT3));
        if (!answer.error) continue;
        ++refused;
        EXPECT_EQ(answer.error, -EILSEQ) << offset;
        ASSERT_EQ(describe(answer.reason), describe(DJPROBE_REASON_NOT_BOUNDARY)) << offset;
        EXPECT_LT(answer.detail[0], start + offset);
        EXPECT_GT(answer.detail[1], start + offset);
        EXPECT_LE(answer.detail[1] - answer.detail[0], 15u);
        for (const uint64_t neighbour : answer.detail)
            EXPECT_EQ(device_.attach(at_address(neighbour, DJPROBE_MODE_INT3)).error, 0) << offset;
    }
    EXPECT_GT(refused, 4);
}

TEST_F(Sites, PastTheEnd) {
    for (const uint64_t offset : {uint64_t{0x10000}, uint64_t{0x100000000}, ~uint64_t{0}}) {
        const Answer answer = device_.attach(at(kGetpgid, offset));
        EXPECT_EQ(answer.error, -ERANGE) << offset;
        EXPECT_EQ(describe(answer.reason), describe(DJPROBE_REASON_PAST_END)) << offset;
        EXPECT_EQ(answer.detail[0], address_of(kGetpgid)) << offset;
        EXPECT_GT(answer.detail[1], answer.detail[0]) << offset;
    }
    // The end that it tells is the end.
    const Answer beyond = device_.attach(at(kGetpgid, 0x10000));
    const uint64_t size = beyond.detail[1] - beyond.detail[0];
    EXPECT_EQ(device_.attach(at(kGetpgid, size)).reason, DJPROBE_REASON_PAST_END);
}

TEST_F(Sites, TheFtraceCall) {
    const djprobe_query entry = device_.must_attach(at(kGetpgid)).query();
    if (entry.offset == 5) {
        // At the first byte: there it stands for the entry behind it.
        EXPECT_EQ(device_.attach(at_address(entry.address - 5)).address, entry.address);
    } else {
        expect_refused(at_address(entry.address - 5), -EACCES, DJPROBE_REASON_FTRACE_SITE);
    }
}

TEST_F(Sites, AddressesThatAreNoText) {
    const uint64_t data = address_of("_etext") + 0x200000;
    for (const uint64_t address :
         {data, uint64_t{0x1000}, uint64_t{1}, ~uint64_t{0}, uint64_t{0x8000000000000000},
          uint64_t{0x0000800000000000}, uint64_t{0xffff888000000000}, uint64_t{0xfffffffffffff000},
          reinterpret_cast<uint64_t>(&data)})
        expect_refused(at_address(address), -EACCES, DJPROBE_REASON_NOT_TEXT);
    expect_refused(at_address(0), -EACCES, DJPROBE_REASON_NOT_TEXT);
}

// The linker overrides weak functions: their code stays, behind a function that it does not belong
// to, with a call of ftrace and without a symbol. Nothing runs it.
TEST_F(Sites, CodeWithoutASymbolIsNoText) {
    // cond_syscall() leaves many behind this one, where the compiler keeps them.
    const uint64_t start = address_of("sys_ni_syscall");
    ASSERT_NE(start, 0u);
    const Kallsyms now = Kallsyms::read();
    uint64_t next = ~uint64_t{0};
    for (const Symbol& symbol : now.symbols())
        if (symbol.address > start) next = std::min(next, symbol.address);
    const std::vector<uint8_t> bytes = loader::Kcore().read(start, next - start);
    static constexpr uint8_t kFtraceCall[] = {0x0f, 0x1f, 0x44, 0, 0};
    const auto behind =
        std::search(bytes.begin() + 9, bytes.end(), std::begin(kFtraceCall), std::end(kFtraceCall));
    if (behind == bytes.end()) GTEST_SKIP() << "this kernel has none behind sys_ni_syscall";
    const auto offset = static_cast<uint64_t>(behind - bytes.begin());
    for (uint64_t place = offset; place < bytes.size(); ++place) {
        expect_refused(at_address(start + place), -EACCES, DJPROBE_REASON_NOT_TEXT);
        const Answer by_name = device_.attach(at("sys_ni_syscall", place));
        EXPECT_EQ(by_name.reason, DJPROBE_REASON_PAST_END) << place;
    }
}

/// The size of the kernel's entry for a BUG, which newer ones have more members of.
size_t bug_entry_size() {
    const std::unique_ptr<btf, decltype(&btf__free)> types(btf__load_vmlinux_btf(), btf__free);
    const int id = btf__find_by_name_kind(types.get(), "bug_entry", BTF_KIND_STRUCT);
    return id < 0 ? 0 : btf__type_by_id(types.get(), static_cast<uint32_t>(id))->size;
}

/// Where the kernel's own BUGs and WARNs are, some from all over its text.
std::vector<uint64_t> bug_addresses() {
    constexpr size_t kMost = 200;
    const uint64_t start = address_of("__start___bug_table");
    const size_t size = bug_entry_size();
    if (!size) return {};
    const size_t count = (address_of("__stop___bug_table") - start) / size;
    const std::vector<uint8_t> bytes = loader::Kcore().read(start, count * size);
    std::vector<uint64_t> found;
    for (size_t i = 0; i < count; i += 1 + count / kMost) {
        int32_t distance;  // the address as of x86 and most kernels
        std::memcpy(&distance, &bytes[i * size], sizeof distance);
        found.push_back(start + i * size + static_cast<uint64_t>(int64_t{distance}));
    }
    return found;
}

/// Whether an ud1 or ud2 stands there. Newer kernels name the instruction behind the one that loads
/// the entry's address; the trap, which boot makes of a static call, comes some instructions later.
bool is_trap(uint64_t address) {
    const std::vector<uint8_t> bytes = loader::Kcore().read(address, 4);
    const auto opcode = std::ranges::find(bytes, 0x0f);
    return bytes.end() - opcode > 1 && (opcode[1] == 0x0b || opcode[1] == 0xb9) &&
           std::all_of(bytes.begin(), opcode,
                       [](uint8_t prefix) { return prefix == 0x67 || prefix >> 4 == 4; });
}

// Kernel commit e336b4027775: a probe on a BUG's instruction hid it.
TEST_F(Sites, BugsAndWarnings) {
    const uint64_t begin = address_of("_stext"), end = address_of("_etext");
    std::map<djprobe_reason, int> seen;
    for (const uint64_t address : bug_addresses()) {
        if (address < begin || address >= end) continue;  // of the init text
        if (!is_trap(address)) continue;
        const Answer answer = device_.attach(at_address(address, DJPROBE_MODE_INT3));
        EXPECT_EQ(answer.error, -EACCES) << std::hex << address << " " << symbol_at(address);
        ++seen[answer.reason];
    }
    for (const auto& [reason, count] : seen)
        std::printf("%5d %s\n", count, describe(reason).c_str());
    // Some are where no probe may be anyway.
    const int known = seen[DJPROBE_REASON_BUG_SITE] + seen[DJPROBE_REASON_TRAP_INSN];
    EXPECT_GT(seen[DJPROBE_REASON_BUG_SITE], 0);
    EXPECT_GT(known, 50);
}

// In these functions there are some; none of them may be taken.
TEST_F(Sites, WhatTheKernelRewrites) {
    std::map<djprobe_reason, int> seen;
    const std::vector<const char*> functions = {"try_to_wake_up", "kfree", "do_exit"};
    for (const char* symbol : functions) {
        const uint64_t start = address_of(symbol);
        if (!start) continue;
        Request request = at(symbol, 0, DJPROBE_MODE_INT3);
        for (int asked = 0; asked < 100; ++asked) {
            const Answer answer = device_.attach(request);
            if (answer.error == -ERANGE) break;
            ++seen[answer.reason];
            if (answer.reason == DJPROBE_REASON_NOT_BOUNDARY)
                request.offset = answer.detail[1] - start;
            else if (!answer.error)
                request.offset = answer.probe.query().offset + 1;
            else
                ++request.offset;
        }
    }
    for (const auto& [reason, count] : seen)
        std::printf("%5d %s\n", count, describe(reason).c_str());
    EXPECT_GT(seen[DJPROBE_REASON_JUMP_LABEL] + seen[DJPROBE_REASON_STATIC_CALL], 0);
}

}  // namespace
}  // namespace djprobe::vm
