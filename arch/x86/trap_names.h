/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of the int3 path, from which arch/x86/closure.h computes the functions that must never hold
 * an int3 of ours. Plain C: the module (kmod/glue) and the survey share them.
 */
#ifndef DJPROBE_X86_TRAP_NAMES_H
#define DJPROBE_X86_TRAP_NAMES_H

/* What exc_int3() calls for an int3 in the kernel before it comes to us, first in the die chain. */
static const char* const djprobe_trap_roots[] = {
    "irqentry_nmi_enter",
    "irqentry_nmi_exit",
    "kprobe_int3_handler",
    "notify_die",
};

/*
 * What traces those functions runs before them, once somebody traces: the function tracer's and
 * ftrace's callbacks, up to where they find out about recursion, a BPF trampoline and tracepoints
 * likewise. On the path and leaves; a kernel need not have them.
 */
static const char* const djprobe_trap_tracers[] = {
    "kgdb_ll_trap", /* looks at every int3 first, where there is one */
    "function_trace_call",
    "function_stack_trace_call",
    "function_no_repeats_trace_call",
    "function_stack_no_repeats_trace_call",
    "function_trace_probe_call",
    "stack_trace_call",
    "perf_ftrace_function_call",
    "trace_graph_entry",
    "function_graph_enter",
    "function_graph_enter_regs",
    "prepare_ftrace_return",
    "ftrace_graph_func",
    "return_to_handler",
    "ftrace_return_to_handler",
    /* What that calls once the tracer's own guard is open again. */
    "trace_graph_return",
    "trace_graph_thresh_return",
    "trace_clock_local",
    "sched_clock",
    "native_sched_clock",
    "kvm_sched_clock_read",
    "vmware_sched_clock",
    "xen_sched_clock",
    "pvclock_clocksource_read",
    "read_hv_sched_clock_tsc",
    "read_hv_sched_clock_msr",
    /* The handlers of tracepoints that are on the path, outside their guard: of the die chain, and
     * of an interrupt's end on RT. */
    "__traceiter_notifier_run",
    "trace_event_raw_event_notifier_info",
    "perf_trace_notifier_info",
    "__bpf_trace_notifier_info",
    "__traceiter_nmi_noise",
    "trace_event_raw_event_nmi_noise",
    "perf_trace_nmi_noise",
    "__bpf_trace_nmi_noise",
    "bpf_trace_run1",
    "bpf_trace_run2",
    "bpf_prog_inc_misses_counter",
    "perf_trace_buf_alloc",
    "perf_trace_run_bpf_submit",
    "perf_swevent_get_recursion_context",
    "trace_event_ignore_this_pid",
    "__trace_trigger_soft_disabled",
    "trace_event_buffer_reserve",
    "trace_event_buffer_lock_reserve",
    "ring_buffer_lock_reserve",
    "ring_buffer_unlock_commit",
    "trace_event_buffer_commit",
    "event_triggers_call",
    "event_triggers_post_call",
    "arch_ftrace_ops_list_func",
    "ftrace_ops_list_func",
    "ftrace_ops_assist_func",
    "ftrace_pid_func",
    "call_direct_funcs",
    "fprobe_handler",
    "fprobe_kprobe_handler",
    "klp_ftrace_handler",
    "rcu_is_watching",
    "migrate_disable",
    "migrate_enable",
    "__bpf_prog_enter",
    "__bpf_prog_enter_recur",
    "__bpf_prog_enter_lsm_cgroup",
    "__bpf_prog_enter_sleepable",
    "__bpf_prog_enter_sleepable_recur",
    "__bpf_prog_exit",
    "__bpf_prog_exit_recur",
    "__bpf_prog_exit_lsm_cgroup",
    "__bpf_prog_exit_sleepable",
    "__bpf_prog_exit_sleepable_recur",
    "__bpf_tramp_enter",
    "__bpf_tramp_exit",
};

/* They run on the path, what they call does not. */
static const char* const djprobe_trap_leaves[] = {
    /* Return at once in NMI context, which every int3 in the kernel is. */
    "rcu_read_unlock_special",
    "__rcu_irq_enter_check_tick",
    /* Called by rcu_read_unlock_special, where a debug kernel has it inlined. */
    "raise_softirq_irqoff",
    "irq_work_queue_on",
    "rcu_preempt_deferred_qs_irqrestore",
    /* Lockdep: off in NMI context; but for what it writes down of the locks held when interrupts
     * come on again, which a kernel with lockdep must live with. */
    "lock_acquire",
    "lock_release",
    "lock_is_held_type",
    "lockdep_hardirqs_on_prepare",
    /* Only where something is wrong: reports. */
    "_printk",
    "__warn_printk",
    "kasan_report",
    "lockdep_rcu_suspicious",
    /* Do nothing while preemption is off. */
    "preempt_schedule",
    "preempt_schedule_notrace",
    "preempt_schedule_thunk",
    "preempt_schedule_notrace_thunk",
    "__SCT__preempt_schedule",
    "__SCT__preempt_schedule_notrace",
    /* Only where a kprobe of the kernel is, which we refuse as a site. */
    "reenter_kprobe",
    "setup_singlestep",
    /* Ends in a panic. */
    "__stack_chk_fail",
    /* Returns only. */
    "__x86_return_thunk",
};

/* Leaves as well: warnings, which must not happen; tracepoints, whose handlers are named above. */
#define DJPROBE_TRAP_LEAF_PART ".cold"
#define DJPROBE_TRAP_LEAF_PREFIX "__SCT__tp_func_"

#endif
