/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel: constants for the analysis and the detours. */
#ifndef DJPROBE_KMOD_CONTRACT_MACHINE_H
#define DJPROBE_KMOD_CONTRACT_MACHINE_H

#include "../../../uapi/djprobe_action.h"
#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Constants of this kernel for the analysis and the detours. */
struct djk_machine {
	unsigned short cs, ss; /* the kernel's selectors, for struct pt_regs */
	bool smap;	       /* a detour must save and clear EFLAGS.AC */
	bool lahf;	       /* the CPU has lahf and sahf */
	bool no_jump_tables;   /* the kernel's configuration excludes jump tables */
	unsigned int pad;      /* bytes before each function that its callers run; 0: they do not */
	struct djk_extent indirect_thunks, return_thunks; /* what the compiler jumps to */
	struct djk_extent boot_thunks[2]; /* where boot may lead jumps to indirect thunks instead */
	/* The kernel counts calls, so that returns do not outrun what the CPU predicts (call depth
	 * tracking). A displaced call is a push and a jump: the kernel counts it, but the CPU
	 * predicts no return for it. */
	bool counts_calls;
	/* A return or an indirect branch is safe only at some places of a cache line (ITS), so no
	 * copy of one is. Returns jump to return_thunk instead. */
	bool aligned_branches;
	unsigned long return_thunk;
	unsigned long hit_handler; /* bool (struct pt_regs *, struct djk_site *): djk_hit() */
	unsigned long slow_thunk;  /* djk_hit_slow_thunk() */
	unsigned long
		shadow_entry; /* void (struct pt_regs *, struct djk_handler *); reads sp only */
	/* What a detour needs to call a program itself: ints per CPU, by their offset from %gs, 0
	 * for none. `active` counts BPF programs and our handlers that run on the CPU. */
	int active, preempt_count;
	bool wide_preempt_count; /* a long; it tells in its last bit that no reschedule is due */
	signed char mark;	 /* a handler of ours adds it to `active` while it runs */
	unsigned long stats;   /* address of an int that is not 0 while BPF statistics are taken */
	unsigned long resched; /* void (), to call when the preemption count has reached 0; or 0 */
	int current_task;      /* the address of the task that runs, per CPU */
	unsigned int task_fields[DJPROBE_TASK_FIELDS]; /* where its fields lie */
	int cpu_number;				       /* a CPU's own number, per CPU */
};
void djk_get_machine(struct djk_machine *machine);

#ifdef __cplusplus
}
#endif
#endif
