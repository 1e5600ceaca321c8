/* SPDX-License-Identifier: GPL-2.0 */
/* The hit path's face to the rest of the C side. */
#ifndef DJPROBE_KMOD_HIT_H
#define DJPROBE_KMOD_HIT_H

#include <linux/types.h>

struct djk_full_handler;
struct djk_machine;
struct djk_handler;
struct djk_site;
struct pt_regs;

/*
 * Run the handlers of a site; what a detour calls (an int3 runs them likewise). `regs` is complete
 * and its ip is the IA. Any context, NMI included: never sleeps, allocates or
 * takes a lock of ours. Skips, and counts, what recursion or another BPF
 * program on this CPU forbids. True: a handler wants to continue elsewhere, at
 * regs->ip.
 */
bool djk_hit(struct pt_regs *regs, struct djk_site *site);

/*
 * What a detour calls that runs a BPF program itself, when that must not run now
 * or not without bookkeeping. Preemption is off, all else as for djk_hit(); `regs`
 * is good for what the program reads.
 */
void djk_hit_slow(struct pt_regs *regs, struct djk_handler *probe);
/* Its thunk: the probe is in rax, all other registers are kept. */
void djk_hit_slow_thunk(void);

/* What detours need to run a program themselves. */
void djk_get_guard(struct djk_machine *machine);

/* Take part in the kernel's int3 handling. */
void djk_hit_start(void);
/* After the last detour has been freed: a task may stand in front of an int3 in one. */
void djk_hit_stop(void);

#endif
