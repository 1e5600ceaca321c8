/* SPDX-License-Identifier: GPL-2.0 */
/* What the rest of the C side, and detours, call of the hit path. */
#ifndef DJPROBE_KMOD_HIT_H
#define DJPROBE_KMOD_HIT_H

#include <linux/types.h>

struct djk_full_handler;
struct djk_machine;
struct djk_handler;
struct djk_site;
struct pt_regs;

/*
 * Run the handlers of a site. A detour calls this; an int3 runs them likewise. `regs` is complete
 * and its ip is the IA. In any context: it never sleeps, allocates or takes a lock of ours. It
 * skips, and counts as missed, what recursion or another BPF program on this CPU forbids. True: a
 * handler wants to continue elsewhere, at regs->ip.
 */
bool djk_hit(struct pt_regs *regs, struct djk_site *site);

/*
 * A detour that runs a BPF program itself calls this where the program must not run now, or where
 * BPF statistics are taken. Preemption is off; the context is that of djk_hit(). `regs` holds what
 * the program reads.
 */
void djk_hit_slow(struct pt_regs *regs, struct djk_handler *handler);
/* Its thunk for detours: the handler is in rax, regs in rdi; other registers are kept. */
void djk_hit_slow_thunk(void);

/* Fill in what detours need to run a program themselves. */
void djk_get_guard(struct djk_machine *machine);

/* Take part in the kernel's int3 handling. */
void djk_hit_start(void);
/* Take no part any more: after the last detour has been freed, since a task may stand in front of
 * an int3 in one. Sleeps until no CPU is in the notifier. */
void djk_hit_stop(void);

#endif
