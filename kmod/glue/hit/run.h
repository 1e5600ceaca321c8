/* SPDX-License-Identifier: GPL-2.0 */
/* Running one handler under the guard: what hits at a site and returns of functions share. */
#ifndef DJPROBE_KMOD_RUN_H
#define DJPROBE_KMOD_RUN_H

#include <linux/filter.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>

#include "../kernel/imports.h"
#include "handler.h"

/*
 * What a handler of ours adds to bpf_prog_active while it runs. BPF programs add
 * 1 and only look whether it was 0, so the sum also tells who is running. As one
 * byte, which makes detours shorter; below 0, where no number of tasks that were
 * preempted with a 1 of their own gets.
 */
#define DJK_OUR_MARK (-128)

static __always_inline int __percpu *djk_bpf_active(void)
{
	return (int __percpu *)djk_imports.bpf_prog_active;
}

/* Why no handler may run on this CPU now, of which djk_bpf_active() says `active`. Preemption is
 * off. What this calls is never a site: the guard is not ours here. */
enum djprobe_miss djk_why_missed(int active);
/* Count it, for `bpftool prog` as well. Preemption is off. */
void djk_count_miss(struct djk_full_handler *handler, enum djprobe_miss cause);

/*
 * Preemption is off, which is a reader's side of RCU; but with lock debugging
 * helpers want to see rcu_read_lock().
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

/* With the context that helpers ask who has attached the program, and where. `entry`: a session's
 * entry program, whose 64 bits it returns. */
u64 djk_run_with_context(struct djk_full_handler *handler, bool entry, struct pt_regs *regs);

/* It cannot redirect: its context is read-only, and it does not call bpf_override_return(). */
static __always_inline void djk_run_plain(struct djk_full_handler *handler, struct pt_regs *regs)
{
	bpf_prog_run(handler->prog, regs);
	this_cpu_inc(handler->counters->hits);
}

/* A program that may need its context. */
static __always_inline void djk_run_program(struct djk_full_handler *handler, struct pt_regs *regs)
{
	if (handler->needs_context)
		djk_run_with_context(handler, false, regs);
	else
		bpf_prog_run(handler->prog, regs);
	this_cpu_inc(handler->counters->hits);
}

#endif
