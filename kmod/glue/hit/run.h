/* SPDX-License-Identifier: GPL-2.0 */
/* How one handler runs under the guard: hits at a site and returns of functions share this. */
#ifndef DJPROBE_KMOD_RUN_H
#define DJPROBE_KMOD_RUN_H

#include <linux/filter.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>

#include "../kernel/imports.h"
#include "actions.h"
#include "handler.h"

/*
 * A handler of ours adds this to bpf_prog_active while it runs. BPF programs add 1 and only look
 * whether it was 0, so the sum also tells which of the two runs. It fits into a byte, which makes
 * detours shorter. It is so far below 0 that preempted tasks, each with a 1 of its own, do not make
 * up for it.
 */
#define DJK_OUR_MARK (-128)

static __always_inline int __percpu *djk_bpf_active(void)
{
	return (int __percpu *)djk_imports.bpf_prog_active;
}

/*
 * A handler that counts has been hit. In any context, with preemption or without: one instruction
 * increments the counter of the CPU that runs it. It needs no guard, since nothing is called that
 * could be hit again. So it counts also where a program would be missed.
 */
static __always_inline void djk_count_hit(const struct djk_full_handler *handler,
					  const struct pt_regs *regs)
{
	u64 __percpu *const counter = (u64 __percpu *)handler->link.counter;

	if (handler->actions)
		djk_act(handler->actions, counter, regs);
	else
		this_cpu_inc(*counter);
}

/* Whether the hit is one for the program. As djk_count_hit(): filtering needs no guard. */
static __always_inline bool djk_passes(const struct djk_full_handler *handler,
				       const struct pt_regs *regs)
{
	return !handler->actions || djk_act(handler->actions, NULL, regs);
}

/* Why no handler may run on this CPU now, whose djk_bpf_active() is `active`. Preemption is off, in
 * any context. It calls nothing that may be a site, because the caller does not hold the guard. */
enum djprobe_miss djk_why_missed(int active);
/* Count a miss, for `bpftool prog` as well. Preemption is off, in any context. */
void djk_count_miss(struct djk_full_handler *handler, enum djprobe_miss cause);

/*
 * Preemption is off, which makes the caller a reader of RCU. With lock debugging, however, helpers
 * want to see rcu_read_lock().
 */
static __always_inline void djk_lock_rcu(void)
{
	if (IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		rcu_read_lock();
}

static __always_inline void djk_unlock_rcu(void)
{
	if (IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		rcu_read_unlock();
}

/* Run a program with the context in which helpers find its cookie and its site. `entry`: run a
 * session's entry program. Returns the program's result. Preemption is off. */
u64 djk_run_with_context(struct djk_full_handler *handler, bool entry, struct pt_regs *regs);

/* Run a program that needs no context. It cannot redirect: one that writes to its registers is
 * refused, and it does not call bpf_override_return(). */
static __always_inline void djk_run_plain(struct djk_full_handler *handler, struct pt_regs *regs)
{
	bpf_prog_run(handler->prog, regs);
	this_cpu_inc(handler->counters->hits);
}

/* Run a program that may need its context. */
static __always_inline void djk_run_program(struct djk_full_handler *handler, struct pt_regs *regs)
{
	if (handler->needs_context)
		djk_run_with_context(handler, false, regs);
	else
		bpf_prog_run(handler->prog, regs);
	this_cpu_inc(handler->counters->hits);
}

/* The same for one that sees `ip` and `sp` as a probe of the kernel's own shows them. True: it has
 * set another `ip` (bpf_override_return()), which stays. */
bool djk_run_as_kernel(struct djk_full_handler *handler, struct pt_regs *regs);

#endif
