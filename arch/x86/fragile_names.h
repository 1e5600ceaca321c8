/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of the kernel that no probe may be in although no list of the kernel's says so. Plain C: the
 * module (kmod/glue) and the survey share it. What a kernel does not have is left out.
 */
#ifndef DJPROBE_X86_FRAGILE_NAMES_H
#define DJPROBE_X86_FRAGILE_NAMES_H

/* From the beginning of the first symbol to that of the second; where that is empty, to its own
 * end. */
static const struct djprobe_fragile {
    const char* from;
    const char* to;
} djprobe_fragile[] = {
    /* The kernel copies them and runs the copy, without our traps and slots: kexec and kdump,
     * resume from disk, a trampoline for each user of ftrace. */
    {"relocate_kernel", ""},
    {"identity_mapped", ""},
    {"virtual_mapped", ""},
    {"swap_pages", ""},
    {"core_restore_code", ""},
    /* And pokes the call in them without a look at what is there. */
    {"ftrace_caller", "ftrace_caller_end"},
    {"ftrace_regs_caller", "ftrace_regs_caller_end"},
    /* On the way to kexec: interrupt table and GS base are gone. */
    {"machine_kexec", ""},
    /* A CPU comes up, or back from suspend: it has no gate for the breakpoint yet. */
    {"start_secondary", ""},
    {"cr4_init", ""},
    {"cr4_update_irqsoff", ""},
    {"cr4_set_bits", ""},
    {"native_write_cr0", ""},
    {"native_write_cr4", ""},
    {"cpu_init_exception_handling", ""},
    {"cpu_init_fred_exceptions", ""},
    {"cpu_init_fred_rsps", ""},
    {"load_current_idt", ""},
    /* What those call, and what calls them, before there is a gate. */
    {"secondary_startup_64", ""},
    {"secondary_startup_64_no_verify", ""},
    {"common_startup_64", ""},
    {"verify_cpu", ""},
    {"sev_verify_cbit", ""},
    {"early_setup_idt", ""},
    {"startup_64_load_idt", ""},
    {"set_bringup_idt_handler", ""},
    {"set_bringup_idt_handler.constprop.0", ""},
    {"setup_ghcb", ""},
    {"snp_register_ghcb_early", ""},
    {"cpu_init_secondary", ""},
    {"load_percpu_segment", ""},
    {"native_load_tr_desc", ""},
    {"native_load_gdt", ""},
    {"load_direct_gdt", ""},
    {"load_fixmap_gdt", ""},
    {"native_write_gdt_entry", ""},
    {"native_write_cr3", ""},
    {"native_write_msr", ""},
    {"__traceiter_write_msr", ""},
    {"trace_event_raw_event_msr_trace_class", ""},
    {"perf_trace_msr_trace_class", ""},
    {"memset", ""},
    {"memset_erms", ""},
    {"memset_orig", ""},
    /* On the way to kexec as well. */
    {"cc_platform_has", ""},
    {"wakeup_long64", ""},
    {"do_suspend_lowlevel", ""},
    {"restore_processor_state", ""},
    /* Or back from disk, still with the GS base of the kernel that read the image. */
    {"restore_registers", ""},
    {"swsusp_arch_suspend", ""},
    {"hibernation_snapshot", ""},
    {"hibernation_snapshot.cold", ""},
    /* A CPU that goes is none of RCU's any more, and then lies dead until something wakes it: no
     * quiescence waits for it, and no core sync reaches it. */
    {"rcu_report_dead", ""},
    {"rcutree_report_cpu_dead", ""},
    {"cpuhp_report_idle_dead", ""},
    {"cpuhp_ap_report_dead", ""},
    {"arch_cpu_idle_dead", ""},
    {"idle_task_exit", ""},
    {"play_dead_common", ""},
    {"native_play_dead", ""},
    {"mwait_play_dead", ""},
    {"hlt_play_dead", ""},
    {"resume_play_dead", ""},
    {"cpuidle_play_dead", ""},
    {"acpi_idle_play_dead", ""},
    {"acpi_mp_play_dead", ""},
    {"asm_acpi_mp_play_dead", ""},
    {"sev_es_play_dead", ""},
    {"xen_pv_play_dead", ""},
    {"tboot_shutdown", ""},
    {"tboot_shutdown.cold", ""},
    {"cond_wakeup_cpu0", ""},
    {"cpu_report_death", ""},
    {"cpuidle_get_cpu_driver", ""},
    {"soft_restart_cpu", ""},
    {"start_cpu0", ""},
    {"xen_cpu_bringup_again", ""},
    {"asm_cpu_bringup_and_idle", ""},
    /* A guest of Xen's (PV) comes and goes through them, from every breakpoint as well. */
    {"xen_iret", ""},
    {"xenpv_restore_regs_and_return_to_usermode", ""},
    {"xen_entry_SYSCALL_64", ""},
    {"xen_entry_SYSCALL_compat", ""},
    {"xen_entry_SYSENTER_compat", ""},
    /* The idle loop runs them while RCU is not watching: a jump would not tell RCU. */
    {"sched_clock_cpu", ""},
    {"cpuidle_poll_time", ""},
    {"arch_cpu_idle", ""},
    {"cpuidle_enter_state", ""},
    {"cpuidle_enter_s2idle", ""},
    {"default_enter_idle", ""},
    {"tick_check_broadcast_expired", ""},
    {"amd_e400_idle", ""},
    {"xen_safe_halt", ""},
    /* Nor is it in what a CPU that comes up runs before it reports itself, */
    {"cpu_init", ""},
    {"load_ucode_ap", ""},
    {"cpuhp_ap_sync_alive", ""},
    {"fpu__init_cpu", ""},
    /* and with nohz_full behind what tells it that a task is in user space. */
    {"ret_from_fork", ""},
    {"ret_from_fork_asm", ""},
    /* Entered with preemption on and a reschedule due: with preempt=full the detour's own
     * preempt_enable() would lead here again, and again. */
    {"preempt_schedule_common", ""},
};

#endif
