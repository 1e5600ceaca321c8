/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of the int3 path, from which arch/x86/analysis/closure.h computes the functions that must
 * never hold an int3 of ours. Plain C: the module (kmod/glue) and the survey share them.
 */
#ifndef DJPROBE_LINUX_TRAP_NAMES_H
#define DJPROBE_LINUX_TRAP_NAMES_H

#include "root_names.h"

/* clang-format off */
#define PATH(name) {name, DJPROBE_ALWAYS, "", DJPROBE_ALL, {"", ""}}
#define PATHSELF(name) {name, DJPROBE_ALWAYS, "", DJPROBE_ITSELF, {"", ""}}
#define TRACER(feature, name) {name, DJPROBE_WITH, feature, DJPROBE_ITSELF, {"", ""}}
#define VARIANT(group, name) {name, DJPROBE_ONE_OF, group, DJPROBE_ITSELF, {"", ""}}
#define PERHAPS(why, name) {name, DJPROBE_PERHAPS, why, DJPROBE_ITSELF, {"", ""}}
#define PERHAPSALL(why, name) {name, DJPROBE_PERHAPS, why, DJPROBE_ALL, {"", ""}}

static const struct djprobe_root djprobe_trap_roots[] = {
    /* exc_int3() calls these for an int3 in the kernel before it reaches our notifier, the first
     * in the die chain. */
    PATH("irqentry_nmi_enter"),
    PATH("irqentry_nmi_exit"),
    PATH("kprobe_int3_handler"),
    PATH("notify_die"),

    /* A tracer of those functions runs before them, once a user traces: the callbacks of the
     * function tracer and of ftrace, up to where they detect recursion; a BPF trampoline and
     * tracepoints likewise. They are on the path, and leaves. */
    TRACER("kgdb_handle_exception", "kgdb_ll_trap"), /* looks at every int3 first */
    TRACER("function_trace_init", "function_trace_call"),
    TRACER("function_trace_init", "function_stack_trace_call"),
    TRACER("function_trace_init", "function_no_repeats_trace_call"),
    TRACER("function_trace_init", "function_stack_no_repeats_trace_call"),
    PERHAPS("of newer versions", "function_args_trace_call"),
    TRACER("register_ftrace_function_probe", "function_trace_probe_call"),
    /* What function_trace_probe_call() calls: NAME:traceon and the like in set_ftrace_filter. */
    PERHAPS("of kernels with that command", "ftrace_traceon"),
    PERHAPS("of kernels with that command", "ftrace_traceon_count"),
    PERHAPS("of kernels with that command", "ftrace_traceoff"),
    PERHAPS("of kernels with that command", "ftrace_traceoff_count"),
    PERHAPS("of kernels with that command", "ftrace_stacktrace"),
    PERHAPS("of kernels with that command", "ftrace_stacktrace_count"),
    PERHAPS("of kernels with that command", "ftrace_snapshot"),
    PERHAPS("of kernels with that command", "ftrace_count_snapshot"),
    PERHAPS("of kernels with that command", "ftrace_dump_probe"),
    PERHAPS("of kernels with that command", "ftrace_cpudump_probe"),
    PERHAPS("of kernels with that command", "ftrace_dump"),
    PERHAPS("of kernels with that command", "event_enable_probe"),
    PERHAPS("of kernels with that command", "event_enable_count_probe"),
    PERHAPS("inlined by newer versions", "update_event_probe"),
    PERHAPS("of kernels with that command", "ftrace_func_mapper_find_ip"),
    TRACER("stack_trace_sysctl", "stack_trace_call"),
    TRACER("perf_ftrace_event_register", "perf_ftrace_function_call"),
    TRACER("register_ftrace_graph", "trace_graph_entry"),
    PERHAPS("inlined by newer versions", "function_graph_enter"),
    PERHAPS("of newer versions", "function_graph_enter_regs"),
    PERHAPS("inlined into ftrace_graph_func", "prepare_ftrace_return"),
    TRACER("register_ftrace_graph", "ftrace_graph_func"),
    TRACER("register_ftrace_graph", "return_to_handler"),
    TRACER("register_ftrace_graph", "ftrace_return_to_handler"),
    /* The graph tracer calls these once its own guard is open again. */
    TRACER("register_ftrace_graph", "trace_graph_return"),
    TRACER("register_ftrace_graph", "trace_graph_thresh_return"),
    /* Both ways call these before they guard themselves: for each user's state, and where the
     * tracer is told which functions or tasks it traces. */
    PERHAPS("of versions with several users of the graph tracer", "fgraph_get_task_var"),
    PERHAPS("of versions with several users of the graph tracer", "fgraph_pid_func"),
    PERHAPS("of versions with several users of the graph tracer", "fgraph_reserve_data"),
    PERHAPS("of versions with several users of the graph tracer", "fgraph_retrieve_data"),
    PERHAPS("of versions with several users of the graph tracer", "fgraph_retrieve_parent_data"),
    PERHAPS("inlined by other builds", "ftrace_lookup_ip"),
    PERHAPS("inlined by other builds", "ftrace_ops_test"),
    PERHAPS("inlined by other builds", "hash_contains_ip"),
    /* The tracers of latencies, likewise. */
    PERHAPS("of kernels with that tracer", "wakeup_tracer_call"),
    PERHAPS("of kernels with that tracer", "wakeup_graph_entry"),
    PERHAPS("of kernels with that tracer", "wakeup_graph_return"),
    PERHAPS("inlined by other builds", "func_prolog_preempt_disable"),
    PERHAPS("of kernels with that tracer", "irqsoff_tracer_call"),
    PERHAPS("of kernels with that tracer", "irqsoff_graph_entry"),
    PERHAPS("of kernels with that tracer", "irqsoff_graph_return"),
    PERHAPS("inlined by other builds", "func_prolog_dec"),
    TRACER("ring_buffer_lock_reserve", "trace_clock_local"),
    PATHSELF("sched_clock"),
    PATHSELF("native_sched_clock"),
    PERHAPS("of kernels for guests", "kvm_sched_clock_read"),
    PERHAPS("of kernels for guests", "vmware_sched_clock"),
    PERHAPS("of kernels for guests", "xen_sched_clock"),
    PERHAPS("of kernels for guests", "pvclock_clocksource_read"),
    PERHAPS("of kernels for guests", "read_hv_sched_clock_tsc"),
    PERHAPS("of kernels for guests", "read_hv_sched_clock_msr"),
    /* The handlers of tracepoints that are on the path, outside their guard: the tracepoints of the
     * die chain and, on RT, of an interrupt's end. */
    PERHAPS("of versions with that tracepoint", "__traceiter_notifier_run"),
    TRACER("__traceiter_notifier_run", "trace_event_raw_event_notifier_info"),
    TRACER("__traceiter_notifier_run", "perf_trace_notifier_info"),
    TRACER("__traceiter_notifier_run", "__bpf_trace_notifier_info"),
    PERHAPS("of kernels with that tracer", "__traceiter_nmi_noise"),
    TRACER("__traceiter_nmi_noise", "trace_event_raw_event_nmi_noise"),
    TRACER("__traceiter_nmi_noise", "perf_trace_nmi_noise"),
    TRACER("__traceiter_nmi_noise", "__bpf_trace_nmi_noise"),
    /* What a tracepoint calls for a probe on it (t:NAME in dynamic_events), and fprobe traces. */
    PERHAPS("of versions with probes on tracepoints", "__probestub_notifier_run"),
    PERHAPS("of versions with probes on tracepoints", "__probestub_nmi_noise"),
    TRACER("bpf_probe_register", "bpf_trace_run1"),
    TRACER("bpf_probe_register", "bpf_trace_run2"),
    TRACER("bpf_probe_register", "bpf_prog_inc_misses_counter"),
    TRACER("perf_trace_init", "perf_trace_buf_alloc"),
    TRACER("perf_trace_init", "perf_trace_run_bpf_submit"),
    TRACER("perf_trace_init", "perf_swevent_get_recursion_context"),
    /* Its last instructions run when the recursion context has been given back. */
    TRACER("perf_trace_init", "perf_tp_event"),
    TRACER("perf_trace_init", "perf_swevent_put_recursion_context"),
    TRACER("trace_event_reg", "trace_event_ignore_this_pid"),
    TRACER("trace_event_reg", "__trace_trigger_soft_disabled"),
    TRACER("trace_event_reg", "trace_event_buffer_reserve"),
    TRACER("trace_event_reg", "trace_event_buffer_lock_reserve"),
    TRACER("ring_buffer_read_page", "ring_buffer_lock_reserve"),
    TRACER("ring_buffer_read_page", "ring_buffer_unlock_commit"),
    TRACER("trace_event_reg", "trace_event_buffer_commit"),
    /* Before the ring buffer's guard, and when it is open again: a trace of the stack. */
    TRACER("trace_event_reg", "tracing_gen_ctx_irq_test"),
    TRACER("trace_event_reg", "trace_buffer_unlock_commit_regs"),
    PERHAPS("inlined by other builds", "__buffer_unlock_commit"),
    PERHAPS("inlined by other builds", "ftrace_trace_userstack"),
    PERHAPS("of kernels with stack traces", "__ftrace_trace_stack"),
    PERHAPS("of kernels with stack traces", "__trace_stack"),
    PERHAPS("of kernels with stack traces", "trace_dump_stack"),
    /* What traces functions calls these within its guard, which is open for each of the walks
     * below: where that traces the functions of the next walk, an int3 brings one more. */
    PERHAPS("inlined by other builds", "trace_function"),
    PERHAPS("inlined by other builds", "trace_last_func_repeats"),
    PERHAPS("inlined by other builds", "__trace_graph_entry"),
    PERHAPS("inlined by other builds", "__trace_graph_return"),
    PERHAPS("inlined by other builds", "trace_buffer_lock_reserve"),
    PERHAPS("inlined by other builds", "trace_buffer_unlock_commit_nostack"),
    /* They walk the stack with no guard but a count of four: each int3 on that way brings the event
     * again, whose stack is walked, and so on, hundreds at each of four levels. */
    PERHAPSALL("of kernels with stack traces", "stack_trace_save"),
    PERHAPSALL("of kernels with stack traces", "stack_trace_save_regs"),
    PERHAPSALL("of kernels with stack traces", "stack_trace_consume_entry"),
    /* The ring buffer tries again as long as events come in between: with an int3 in each try, a
     * thousand times, and then it warns. */
    PERHAPS("inlined by other builds", "__rb_reserve_next"),
    PERHAPS("inlined by other builds", "rb_move_tail"),
    TRACER("ring_buffer_lock_reserve", "trace_clock"),
    TRACER("ring_buffer_lock_reserve", "trace_clock_global"),
    PERHAPS("of kernels whose time stamp counter may be unstable", "sched_clock_cpu"),
    /* A pointer leads from the buffer to the clock that was chosen for it, and from some of these
     * to what the machine tells the time by. */
    PERHAPS("another clock for traces", "trace_clock_jiffies"),
    PERHAPS("another clock for traces", "trace_clock_counter"),
    PERHAPS("another clock for traces", "trace_clock_x86_tsc"),
    PERHAPS("another clock for traces", "ktime_get_mono_fast_ns"),
    PERHAPS("another clock for traces", "ktime_get_raw_fast_ns"),
    PERHAPS("another clock for traces", "ktime_get_boot_fast_ns"),
    PERHAPS("another clock for traces", "ktime_get_tai_fast_ns"),
    PERHAPS("the time stamp counter as a clock", "read_tsc"),
    PERHAPS("of kernels for guests", "kvm_clock_get_cycles"),
    /* What triggers do outside all guards. From an NMI a snapshot is a line in the trace, written
     * with the ring buffer's guard opened once more for each nesting. */
    TRACER("trace_event_reg", "event_triggers_call"),
    TRACER("trace_event_reg", "event_triggers_post_call"),
    PERHAPS("of newer versions", "event_trigger_count"),
    PERHAPS("inlined by other builds", "traceon_trigger"),
    PERHAPS("of older versions", "traceon_count_trigger"),
    PERHAPS("inlined by other builds", "traceoff_trigger"),
    PERHAPS("of older versions", "traceoff_count_trigger"),
    PERHAPS("of kernels with stack traces", "stacktrace_trigger"),
    PERHAPS("of older versions", "stacktrace_count_trigger"),
    PERHAPS("inlined by other builds", "event_enable_trigger"),
    PERHAPS("of older versions", "event_enable_count_trigger"),
    PERHAPS("of kernels with histograms", "hist_enable_trigger"),
    PERHAPS("of older versions", "hist_enable_count_trigger"),
    /* A probe on an event (e:NAME in dynamic_events) is such a trigger, too. Before it takes room in
     * the ring buffer it reads its strings, to learn how long they are. Names of symbols (symstr)
     * lead on to kallsyms and vsnprintf(), which must stay sites. */
    PERHAPS("of kernels with probes on events", "eprobe_trigger_func"),
    PERHAPS("inlined by other builds", "get_eprobe_size"),
    PERHAPS("inlined by other builds", "get_event_field"),
    TRACER("get_eprobe_size", "copy_from_kernel_nofault"),
    PERHAPS("inlined by other builds", "copy_from_kernel_nofault_allowed"),
    TRACER("get_eprobe_size", "strncpy_from_kernel_nofault"),
    PERHAPS("inlined by other builds", "copy_from_user_nofault"),
    PERHAPS("inlined by other builds", "strncpy_from_user_nofault"),
    PERHAPS("inlined by other builds", "strnlen_user_nofault"),
    /* A histogram of events is made with the ring buffer's guard closed, which lets three more in:
     * with ten int3s on that way each event brings a thousand. */
    PERHAPS("of kernels with histograms", "event_hist_trigger"),
    PERHAPS("inlined by other builds", "hist_fn_call"),
    PERHAPS("inlined by other builds", "resolve_var_refs"),
    PERHAPS("inlined by other builds", "__update_field_vars"),
    PERHAPS("of kernels with histograms", "tracing_map_insert"),
    PERHAPS("inlined by other builds", "__tracing_map_insert"),
    PERHAPS("of kernels with histograms", "tracing_map_lookup"),
    PERHAPS("of kernels with histograms", "tracing_map_update_sum"),
    PERHAPS("of kernels with histograms", "tracing_map_set_var"),
    PERHAPS("of kernels with histograms", "tracing_map_read_var"),
    PERHAPS("of kernels with histograms", "tracing_map_read_var_once"),
    PERHAPS("inlined by other builds", "tracing_event_time_stamp"),
    PERHAPS("inlined by other builds", "ring_buffer_event_time_stamp"),
    PERHAPS("inlined by other builds", "ring_buffer_time_stamp"),
    PERHAPS("of kernels with histograms", "action_trace"),
    PERHAPS("of kernels with histograms", "ontrack_action"),
    PERHAPS("inlined by other builds", "tracer_tracing_is_on"),
    PERHAPS("inlined by other builds", "tracer_tracing_on"),
    PERHAPS("inlined by other builds", "tracer_tracing_off"),
    PERHAPS("inlined by other builds", "tracing_is_on"),
    PERHAPS("inlined by other builds", "tracing_on"),
    PERHAPS("inlined by other builds", "tracing_off"),
    TRACER("ring_buffer_read_page", "ring_buffer_record_is_set_on"),
    TRACER("ring_buffer_read_page", "ring_buffer_record_on"),
    TRACER("ring_buffer_read_page", "ring_buffer_record_off"),
    PERHAPS("of kernels with snapshots", "snapshot_trigger"),
    PERHAPS("of older versions", "snapshot_count_trigger"),
    PERHAPS("of kernels with snapshots", "tracing_snapshot"),
    PERHAPS("of kernels with snapshots", "tracing_snapshot_instance"),
    PERHAPS("of kernels with snapshots", "tracing_snapshot_instance_cond"),
    PERHAPS("inlined by other builds", "__trace_array_puts"),
    TRACER("ring_buffer_read_page", "ring_buffer_nest_start"),
    TRACER("ring_buffer_read_page", "ring_buffer_nest_end"),
    TRACER("ring_buffer_read_page", "ring_buffer_event_data"),
    PERHAPS("inlined by other builds", "rb_commit"),
    PERHAPS("inlined by other builds", "ring_buffer_nr_dirty_pages"),
    /* A function that several trace comes through ftrace_caller, whose last instructions the
     * trampoline of a single user has not, and fragile_names.h neither. */
    PATHSELF("ftrace_caller_end"),
    PATHSELF("ftrace_regs_caller_end"),
    VARIANT("what calls several users of ftrace", "arch_ftrace_ops_list_func"),
    VARIANT("what calls several users of ftrace", "ftrace_ops_list_func"),
    TRACER("register_ftrace_function", "ftrace_ops_assist_func"),
    TRACER("register_ftrace_function", "ftrace_pid_func"),
    PERHAPS("of versions before direct calls have an op of their own", "call_direct_funcs"),
    PERHAPS("of versions and kernels with fprobe", "fprobe_handler"),
    PERHAPS("of versions and kernels with fprobe", "fprobe_kprobe_handler"),
    TRACER("klp_enable_patch", "klp_ftrace_handler"),
    PATHSELF("rcu_is_watching"),
    PERHAPS("inlined by newer versions", "migrate_disable"),
    PERHAPS("inlined by newer versions", "migrate_enable"),
    TRACER("bpf_trampoline_enter", "__bpf_prog_enter"),
    TRACER("bpf_trampoline_enter", "__bpf_prog_enter_recur"),
    PERHAPS("of kernels with BPF's LSM", "__bpf_prog_enter_lsm_cgroup"),
    TRACER("bpf_trampoline_enter", "__bpf_prog_enter_sleepable"),
    TRACER("bpf_trampoline_enter", "__bpf_prog_enter_sleepable_recur"),
    TRACER("bpf_trampoline_enter", "__bpf_prog_exit"),
    TRACER("bpf_trampoline_enter", "__bpf_prog_exit_recur"),
    PERHAPS("of kernels with BPF's LSM", "__bpf_prog_exit_lsm_cgroup"),
    TRACER("bpf_trampoline_enter", "__bpf_prog_exit_sleepable"),
    TRACER("bpf_trampoline_enter", "__bpf_prog_exit_sleepable_recur"),
    TRACER("bpf_trampoline_get", "__bpf_tramp_enter"),
    TRACER("bpf_trampoline_get", "__bpf_tramp_exit"),
};

#undef PATH
#undef PATHSELF
#undef TRACER
#undef VARIANT
#undef PERHAPS
#undef PERHAPSALL
/* clang-format on */

/* These run on the path; what they call does not. */
static const char* const djprobe_trap_leaves[] = {
    /* They return at once in NMI context, which every int3 in the kernel is. */
    "rcu_read_unlock_special",
    "__rcu_irq_enter_check_tick",
    /* rcu_read_unlock_special calls it, which a debug kernel has inlined. */
    "raise_softirq_irqoff",
    "irq_work_queue_on",
    "rcu_preempt_deferred_qs_irqrestore",
    /* Lockdep is off in NMI context, except that it notes the held locks when interrupts come on
     * again. A kernel with lockdep must live with that. */
    "lock_acquire",
    "lock_release",
    "lock_is_held_type",
    "lockdep_hardirqs_on_prepare",
    /* They report that something is wrong. */
    "_printk",
    "_printk_deferred",
    "__warn_printk",
    "kasan_report",
    "lockdep_rcu_suspicious",
    /* They do nothing while preemption is off. */
    "preempt_schedule",
    "preempt_schedule_notrace",
    "preempt_schedule_thunk",
    "preempt_schedule_notrace_thunk",
    "__SCT__preempt_schedule",
    "__SCT__preempt_schedule_notrace",
    /* They run only where the kernel has a kprobe, whose int3 it handles itself. */
    "reenter_kprobe",
    "setup_singlestep",
    /* It ends in a panic. */
    "__stack_chk_fail",
    /* It only returns. */
    "__x86_return_thunk",
};

/* Leaves as well, beside the warnings in NAME.cold, which must not happen: tracepoints, whose
 * handlers are named above. */
#define DJPROBE_TRAP_LEAF_PREFIX "__SCT__tp_func_"

#endif
