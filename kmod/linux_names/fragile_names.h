/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of the kernel that must hold no probe although no list of the kernel says so. These are the
 * roots; fragile.h computes from them all that a kernel runs there. Plain C: the module and the
 * survey share it.
 */
#ifndef DJPROBE_LINUX_FRAGILE_NAMES_H
#define DJPROBE_LINUX_FRAGILE_NAMES_H

#include "root_names.h"

/* clang-format off */
#define NO_MARK { "", "" }
#define COUNTED { "rcu_cpu_starting", "rcutree_report_cpu_starting" }
#define UNCOUNTED { "rcu_report_dead", "rcutree_report_cpu_dead" }

static const struct djprobe_root djprobe_fragile[] = {
    /* The kernel copies them and runs the copy, without our traps and slots: kexec and kdump,
     * resume from disk, a trampoline for each user of ftrace. */
    {"relocate_kernel", DJPROBE_WITH, "kernel_kexec", DJPROBE_ITSELF, NO_MARK},
    {"identity_mapped", DJPROBE_PERHAPS, "a label within relocate_kernel", DJPROBE_ITSELF, NO_MARK},
    {"virtual_mapped", DJPROBE_PERHAPS, "a label within relocate_kernel", DJPROBE_ITSELF, NO_MARK},
    {"swap_pages", DJPROBE_PERHAPS, "a label within relocate_kernel", DJPROBE_ITSELF, NO_MARK},
    {"core_restore_code", DJPROBE_WITH, "hibernate", DJPROBE_ITSELF, NO_MARK},
    /* The kernel pokes the call in them without a look at what is there. */
    {"ftrace_caller", DJPROBE_ALWAYS, "", DJPROBE_RANGE, {"ftrace_caller_end", ""}},
    {"ftrace_regs_caller", DJPROBE_ALWAYS, "", DJPROBE_RANGE, {"ftrace_regs_caller_end", ""}},
    /* They run on the way to kexec: interrupt table and GS base are gone. */
    {"machine_kexec", DJPROBE_WITH, "kernel_kexec", DJPROBE_ITSELF, NO_MARK},
    {"cc_platform_has", DJPROBE_PERHAPS, "of kernels with memory encryption", DJPROBE_ALL, NO_MARK},

    /* Boot chooses one of them, and all functions return through it, those of the int3 path, too.
     * Their instructions overlap. */
    {"retbleed_return_thunk", DJPROBE_PERHAPS, "of kernels with return thunks", DJPROBE_ITSELF,
     NO_MARK},
    {"retbleed_untrain_ret", DJPROBE_PERHAPS, "of kernels with return thunks", DJPROBE_ITSELF, NO_MARK},
    {"srso_return_thunk", DJPROBE_PERHAPS, "of kernels with return thunks", DJPROBE_ITSELF, NO_MARK},
    {"srso_untrain_ret", DJPROBE_PERHAPS, "of kernels with return thunks", DJPROBE_ITSELF, NO_MARK},
    {"srso_alias_return_thunk", DJPROBE_PERHAPS, "of kernels with return thunks", DJPROBE_ITSELF,
     NO_MARK},
    {"srso_alias_untrain_ret", DJPROBE_PERHAPS, "of kernels with return thunks", DJPROBE_ITSELF,
     NO_MARK},
    {"call_depth_return_thunk", DJPROBE_PERHAPS, "of kernels with return thunks", DJPROBE_ITSELF,
     NO_MARK},
    {"its_return_thunk", DJPROBE_PERHAPS, "of kernels with return thunks", DJPROBE_ITSELF, NO_MARK},

    /* A CPU comes up: first it has no gate for the breakpoint, then RCU does not count it yet. The
     * function that tells RCU is on the way itself. What it calls runs with RCU's ofl_lock, without
     * which no grace period begins. */
    {"secondary_startup_64", DJPROBE_ALWAYS, "", DJPROBE_ALL, NO_MARK},
    {"secondary_startup_64_no_verify", DJPROBE_PERHAPS, "an entry for SEV-ES behind the former's",
     DJPROBE_ALL, NO_MARK},
    {"start_secondary", DJPROBE_ALWAYS, "", DJPROBE_UNTIL, COUNTED},
    {"rcu_cpu_starting", DJPROBE_ONE_OF, "what tells RCU that a CPU comes", DJPROBE_ITSELF, NO_MARK},
    {"rcutree_report_cpu_starting", DJPROBE_ONE_OF, "what tells RCU that a CPU comes", DJPROBE_ITSELF,
     NO_MARK},
    {"start_cpu0", DJPROBE_PERHAPS, "of versions that take the first CPU offline", DJPROBE_ALL, NO_MARK},
    {"soft_restart_cpu", DJPROBE_PERHAPS, "of versions that do not, with SEV-ES", DJPROBE_ALL, NO_MARK},
    /* That code calls these through pv_ops, where boot has not made direct calls of them. */
    {"native_write_cr0", DJPROBE_ALWAYS, "", DJPROBE_ALL, NO_MARK},
    {"native_write_cr4", DJPROBE_ALWAYS, "", DJPROBE_ALL, NO_MARK},
    {"native_write_cr3", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_write_msr", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_read_msr", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_write_msr_safe", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_read_msr_safe", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_load_tr_desc", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_load_gdt", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_load_idt", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_load_tls", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_set_ldt", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_write_gdt_entry", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_write_ldt_entry", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_load_sp0", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_read_cr0", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_halt", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_wbinvd", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    {"native_cpuid", DJPROBE_PERHAPS, "inlined without pv_ops", DJPROBE_ALL, NO_MARK},
    /* The tracepoint in that code, on a CPU that comes back from suspend. */
    {"__traceiter_write_msr", DJPROBE_PERHAPS, "of kernels with tracepoints", DJPROBE_ITSELF, NO_MARK},
    {"trace_event_raw_event_msr_trace_class", DJPROBE_PERHAPS, "of kernels with tracepoints",
     DJPROBE_ITSELF, NO_MARK},
    {"perf_trace_msr_trace_class", DJPROBE_PERHAPS, "of kernels with tracepoints", DJPROBE_ITSELF,
     NO_MARK},
    {"__bpf_trace_msr_trace_class", DJPROBE_PERHAPS, "of kernels with tracepoints", DJPROBE_ITSELF,
     NO_MARK},

    /* A CPU comes back from suspend: it has no gate, and the GS base of the kernel that read the
     * image. */
    {"wakeup_long64", DJPROBE_WITH, "x86_acpi_suspend_lowlevel", DJPROBE_ALL, NO_MARK},
    {"do_suspend_lowlevel", DJPROBE_WITH, "x86_acpi_suspend_lowlevel", DJPROBE_ITSELF, NO_MARK},
    {"restore_processor_state", DJPROBE_WITH, "save_processor_state", DJPROBE_UNTIL,
     {"syscall_init", "load_mm_ldt"}},
    {"cpu_init_fred_exceptions", DJPROBE_WITH, "asm_fred_entrypoint_kernel", DJPROBE_ALL, NO_MARK},
    {"cpu_init_fred_rsps", DJPROBE_WITH, "asm_fred_entrypoint_kernel", DJPROBE_ALL, NO_MARK},
    {"restore_registers", DJPROBE_WITH, "hibernate", DJPROBE_ITSELF, NO_MARK},
    {"swsusp_arch_suspend", DJPROBE_WITH, "hibernate", DJPROBE_ITSELF, NO_MARK},
    {"hibernation_snapshot", DJPROBE_WITH, "hibernate", DJPROBE_ITSELF, NO_MARK},

    /* RCU no longer counts a CPU that goes, which then lies dead until something wakes it: no
     * quiescence waits for it, and no core sync reaches it. */
    {"cpuhp_report_idle_dead", DJPROBE_WITH, "cpu_device_down", DJPROBE_SINCE, UNCOUNTED},
    {"rcu_report_dead", DJPROBE_ONE_OF, "what tells RCU that a CPU goes", DJPROBE_ITSELF, NO_MARK},
    {"rcutree_report_cpu_dead", DJPROBE_ONE_OF, "what tells RCU that a CPU goes", DJPROBE_ITSELF,
     NO_MARK},
    {"arch_cpu_idle_dead", DJPROBE_WITH, "cpu_device_down", DJPROBE_ALL, NO_MARK},
    /* That code calls these through smp_ops, cpuidle's drivers and those of the APIC. */
    {"native_play_dead", DJPROBE_WITH, "cpu_device_down", DJPROBE_ALL, NO_MARK},
    {"mwait_play_dead", DJPROBE_PERHAPS, "inlined where one function calls it", DJPROBE_ALL, NO_MARK},
    {"resume_play_dead", DJPROBE_WITH, "hibernate_resume_nonboot_cpu_disable", DJPROBE_ALL, NO_MARK},
    {"sev_es_play_dead", DJPROBE_PERHAPS, "of kernels for SEV-ES guests", DJPROBE_ALL, NO_MARK},
    {"acpi_mp_play_dead", DJPROBE_PERHAPS, "of versions with ACPI's mailbox", DJPROBE_ALL, NO_MARK},
    {"xen_pv_play_dead", DJPROBE_PERHAPS, "of kernels for Xen's PV guests", DJPROBE_UNTIL,
     {"cpu_bringup", "xen_cpu_bringup_again"}},
    {"acpi_idle_play_dead", DJPROBE_PERHAPS, "of a driver", DJPROBE_ALL, NO_MARK},
    {"acpi_processor_ffh_play_dead", DJPROBE_PERHAPS, "of a driver", DJPROBE_ALL, NO_MARK},
    {"intel_idle_enter_dead", DJPROBE_PERHAPS, "of a driver", DJPROBE_ALL, NO_MARK},
    {"native_send_call_func_single_ipi", DJPROBE_ALWAYS, "", DJPROBE_ALL, NO_MARK},
    {"x2apic_send_IPI", DJPROBE_PERHAPS, "of a driver", DJPROBE_ALL, NO_MARK},
    {"default_send_IPI_single", DJPROBE_PERHAPS, "of a driver", DJPROBE_ALL, NO_MARK},
    {"default_send_IPI_single_phys", DJPROBE_PERHAPS, "of a driver", DJPROBE_ALL, NO_MARK},
    {"hv_send_ipi", DJPROBE_PERHAPS, "of kernels for Hyper-V's guests", DJPROBE_ALL, NO_MARK},
    {"xen_smp_send_call_function_single_ipi", DJPROBE_PERHAPS, "of kernels for Xen's guests",
     DJPROBE_ALL, NO_MARK},

    /* A PV guest of Xen brings a CPU up by the first ones, and enters and leaves the kernel by the
     * others, which return from every breakpoint, too. */
    {"asm_cpu_bringup_and_idle", DJPROBE_PERHAPS, "of kernels for Xen's PV guests", DJPROBE_ITSELF,
     NO_MARK},
    {"cpu_bringup_and_idle", DJPROBE_PERHAPS, "of kernels for Xen's PV guests", DJPROBE_ITSELF, NO_MARK},
    {"cpu_bringup", DJPROBE_PERHAPS, "of kernels for Xen's PV guests", DJPROBE_ITSELF, NO_MARK},
    {"xen_cpu_bringup_again", DJPROBE_PERHAPS, "of kernels for Xen's PV guests", DJPROBE_ITSELF,
     NO_MARK},
    {"xen_iret", DJPROBE_PERHAPS, "of kernels for Xen's PV guests", DJPROBE_ITSELF, NO_MARK},
    {"xenpv_restore_regs_and_return_to_usermode", DJPROBE_PERHAPS, "of kernels for Xen's PV guests",
     DJPROBE_ITSELF, NO_MARK},
    {"xen_entry_SYSCALL_64", DJPROBE_PERHAPS, "of kernels for Xen's PV guests", DJPROBE_ITSELF, NO_MARK},
    {"xen_entry_SYSCALL_compat", DJPROBE_PERHAPS, "of kernels for Xen's PV guests", DJPROBE_ITSELF,
     NO_MARK},
    {"xen_entry_SYSENTER_compat", DJPROBE_PERHAPS, "of kernels for Xen's PV guests", DJPROBE_ITSELF,
     NO_MARK},

    /* The idle loop runs them while RCU is not watching: a jump would not tell RCU. */
    {"sched_clock_cpu", DJPROBE_PERHAPS, "inlined where the TSC is always stable", DJPROBE_ITSELF,
     NO_MARK},
    {"arch_cpu_idle", DJPROBE_ALWAYS, "", DJPROBE_ITSELF, NO_MARK},
    {"cpuidle_poll_time", DJPROBE_WITH, "cpuidle_enter", DJPROBE_ITSELF, NO_MARK},
    {"cpuidle_enter_state", DJPROBE_WITH, "cpuidle_enter", DJPROBE_ITSELF, NO_MARK},
    {"cpuidle_get_cpu_driver", DJPROBE_WITH, "cpuidle_enter", DJPROBE_ITSELF, NO_MARK},
    {"cpuidle_enter_s2idle", DJPROBE_PERHAPS, "of kernels that suspend to idle", DJPROBE_ITSELF,
     NO_MARK},
    {"default_enter_idle", DJPROBE_PERHAPS, "of a driver", DJPROBE_ITSELF, NO_MARK},
    {"tick_check_broadcast_expired", DJPROBE_PERHAPS, "of kernels with broadcast ticks", DJPROBE_ITSELF,
     NO_MARK},
    {"amd_e400_idle", DJPROBE_PERHAPS, "of versions before 6.4", DJPROBE_ITSELF, NO_MARK},
    {"xen_safe_halt", DJPROBE_PERHAPS, "of kernels for Xen's PV guests", DJPROBE_ITSELF, NO_MARK},
    /* With nohz_full a task's way back to user space runs them after it has told RCU. */
    {"ret_from_fork", DJPROBE_ALWAYS, "", DJPROBE_ITSELF, NO_MARK},
    {"ret_from_fork_asm", DJPROBE_PERHAPS, "of versions where ret_from_fork is written in C",
     DJPROBE_ITSELF, NO_MARK},
    /* The kernel enters it with preemption on and a reschedule due: with preempt=full the detour's
     * own preempt_enable() would lead here again, and again. */
    {"preempt_schedule_common", DJPROBE_PERHAPS, "inlined into preempt_schedule", DJPROBE_ITSELF,
     NO_MARK},
};

#undef NO_MARK
#undef COUNTED
#undef UNCOUNTED
/* clang-format on */

/* These run in that code; what they call does not. */
static const char* const djprobe_fragile_leaves[] = {
    /* They print that something is wrong, or a debugging message. */
    "_printk",
    "__warn_printk",
    "dump_stack",
    "__dynamic_pr_debug",
    "kasan_report",
    "lockdep_rcu_suspicious",
    /* Lockdep is as on the int3 path (trap_names.h). */
    "lock_acquire",
    "lock_release",
    "lock_is_held_type",
    "lockdep_hardirqs_on_prepare",
    /* They do nothing while preemption is off. */
    "preempt_schedule",
    "preempt_schedule_notrace",
    "preempt_schedule_thunk",
    "preempt_schedule_notrace_thunk",
    "__SCT__preempt_schedule",
    "__SCT__preempt_schedule_notrace",
    /* It only returns. */
    "__x86_return_thunk",
};

/* That code has calls of these, but they do not run there. */
static const char* const djprobe_fragile_never[] = {
    /* The machine ends: there is nothing left to lose. */
    "panic",
    "__stack_chk_fail",
    "sev_es_terminate",
    "debug_locks_off",
    /* It runs for a user's task that has asked for it, not for the idle task that goes. */
    "task_work_add",
    /* It looks for one CPU of many, for callers that do not say which. A CPU that goes says it. */
    "sched_numa_find_nth_cpu",
    /* 6.1's loader of microcode: it keeps what boot finds, where a CPU that comes up only looks for
     * it; and it makes a file's name of numbers, which takes snprintf(), but no "%p". */
    "save_microcode_patch",
    "pointer",
    /* It runs once, at boot, and finds out how to call Xen. */
    "__xen_hypercall_setfunc",
    /* Boot makes nops of the calls to it. */
    "__fentry__",
};

/* Nor do these, where the kernel has the symbol `with`. */
static const struct {
    const char* name;
    const char* with;
} djprobe_fragile_never_with[] = {
    /* What has a way without the FPU asks irq_fpu_usable() first. With that symbol it says no from
     * where a CPU goes until fpu__init_cpu(): the checksum of microcode is made before that. */
    {"kernel_fpu_begin_mask", "kernel_fpu_allowed"},
    {"kernel_fpu_end", "kernel_fpu_allowed"},
};

/* Leaves as well: tracepoints, whose handlers are not called on a CPU that is not online; reports
 * of checks that the compiler puts in. */
static const char* const djprobe_fragile_leaf_prefixes[] = {
    "__SCT__tp_func_",
    "__traceiter_",
    "__ubsan_handle_",
    "__asan_",
};

#endif
