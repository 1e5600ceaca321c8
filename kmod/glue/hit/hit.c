// SPDX-License-Identifier: GPL-2.0
/* What happens when a CPU reaches a site: guard, count, run the handlers. */
#include "hit.h"

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/rethook.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <asm/cpu_entry_area.h>

#include "../../api/djprobe_api.h"
#include "../kernel/imports.h"
#include "run.h"
#include "shadow.h"

static __always_inline struct djk_full_handler *first_handler(const struct djk_site *site)
{
	/* Preemption is off, so the quiescence before a handler is freed waits for this CPU. */
	return (struct djk_full_handler *)smp_load_acquire(&site->handlers);
}

static __always_inline struct djk_full_handler *next_handler(const struct djk_full_handler *handler)
{
	return (struct djk_full_handler *)smp_load_acquire(&handler->link.next);
}

/* No program may run now: those are missed, and what counts does. Not traced, like djk_hit(): a
 * site in the tracer would be hit again, and miss, without end. */
static notrace void miss(const struct pt_regs *regs, const struct djk_site *site,
			 enum djprobe_miss cause)
{
	struct djk_full_handler *handler;

	for (handler = first_handler(site); handler; handler = next_handler(handler)) {
		if (handler->link.counter)
			djk_count_hit(handler, regs);
		else if (djk_passes(handler, regs))
			djk_count_miss(handler, cause);
	}
}
NOKPROBE_SYMBOL(miss);

/* True: the probed text must continue at regs->ip. */
static bool run_c_handler(struct djk_full_handler *handler, struct pt_regs *regs)
{
	struct djprobe *const probe = handler->c_probe;
	const unsigned long ip = regs->ip;

	this_cpu_inc(handler->counters->hits);
	if (!probe->pre_handler)
		return false;
	if (probe->pre_handler(probe, regs) && regs->ip != ip)
		return true;
	regs->ip = ip;
	return false;
}
NOKPROBE_SYMBOL(run_c_handler);

static bool run_special_handler(struct djk_full_handler *handler, struct pt_regs *regs,
				unsigned int nmi)
{
	const unsigned long ip = regs->ip;

	if (handler->link.counter) {
		djk_count_hit(handler, regs);
		return false;
	}
	if (!djk_passes(handler, regs))
		return false;
	if (handler->c_probe)
		return run_c_handler(handler, regs);
	if (handler->as_kprobe || handler->as_returned)
		return djk_run_as_kernel(handler, regs);
	if (handler->shadow)
		djk_shadow_enter(handler, regs, nmi);
	else
		djk_run_program(handler, regs);
	return regs->ip != ip;
}
NOKPROBE_SYMBOL(run_special_handler);

/* Run the site's handlers under the guard of trace_call_bpf(): a CPU on which a BPF program or a
 * handler is active counts a miss. Preemption is off. `nmi` is what our own int3 has added to the
 * count that in_nmi() reads; 0: a jump led here. */
static __always_inline bool run_handlers(struct pt_regs *regs, const struct djk_site *site,
					 unsigned int nmi)
{
	const int active = __this_cpu_read(*djk_bpf_active());
	struct djk_full_handler *handler;
	bool redirected = false;

	if (unlikely(active)) {
		miss(regs, site, djk_why_missed(active));
		return false;
	}
	__this_cpu_add(*djk_bpf_active(), DJK_OUR_MARK);
	djk_lock_rcu();
	for (handler = first_handler(site); handler; handler = next_handler(handler)) {
		if (likely(handler->link.plain)) {
			djk_run_plain(handler, regs);
			continue;
		}
		redirected = run_special_handler(handler, regs, nmi);
		if (redirected)
			break;
	}
	djk_unlock_rcu();
	__this_cpu_sub(*djk_bpf_active(), DJK_OUR_MARK);
	return redirected;
}

/* Run the post_handlers. What is skipped here was counted before the instruction. */
static notrace void run_after(struct pt_regs *regs, const struct djk_site *site)
{
	const unsigned long ip = regs->ip;
	struct djk_full_handler *handler;

	preempt_disable();
	if (!__this_cpu_read(*djk_bpf_active())) {
		__this_cpu_add(*djk_bpf_active(), DJK_OUR_MARK);
		for (handler = first_handler(site); handler; handler = next_handler(handler))
			if (djk_runs(handler) && handler->c_probe && handler->c_probe->post_handler)
				handler->c_probe->post_handler(handler->c_probe, regs, 0);
		__this_cpu_sub(*djk_bpf_active(), DJK_OUR_MARK);
	}
	preempt_enable();
	regs->ip = ip;
}
NOKPROBE_SYMBOL(run_after);

bool notrace djk_hit(struct pt_regs *regs, struct djk_site *site)
{
	bool redirected;

	if (unlikely((unsigned long)site & DJK_AFTER)) {
		run_after(regs, (void *)((unsigned long)site & ~DJK_AFTER));
		return false;
	}
	preempt_disable();
	redirected = run_handlers(regs, site, 0);
	preempt_enable();
	return redirected;
}
NOKPROBE_SYMBOL(djk_hit);

void notrace djk_hit_slow(struct pt_regs *regs, struct djk_handler *link)
{
	struct djk_full_handler *handler = container_of(link, struct djk_full_handler, link);
	const int active = __this_cpu_read(*djk_bpf_active());

	if (active) {
		djk_count_miss(handler, djk_why_missed(active));
		return;
	}
	__this_cpu_add(*djk_bpf_active(), DJK_OUR_MARK);
	bpf_prog_run(handler->prog, regs);
	this_cpu_inc(handler->counters->hits);
	__this_cpu_sub(*djk_bpf_active(), DJK_OUR_MARK);
}
NOKPROBE_SYMBOL(djk_hit_slow);

void djk_get_guard(struct djk_machine *machine)
{
	machine->hit_handler = (unsigned long)djk_hit;
	machine->slow_thunk = (unsigned long)djk_hit_slow_thunk;
	machine->shadow_entry = (unsigned long)djk_shadow_entry;
	machine->active = djk_imports.bpf_prog_active;
	machine->mark = DJK_OUR_MARK;
	machine->stats = djk_imports.bpf_stats_enabled_key;
#ifdef CONFIG_PREEMPT_COUNT
#ifdef DJK_PCPU_HOT
	machine->preempt_count = (unsigned long)&pcpu_hot.preempt_count;
#else
	machine->preempt_count = (unsigned long)&__preempt_count;
#endif
	machine->wide_preempt_count = (unsigned long)PREEMPT_NEED_RESCHED > U32_MAX;
#endif
#ifdef CONFIG_PREEMPTION
	/* As preempt_enable() calls it: with PREEMPT_DYNAMIC boot has chosen the function. */
	machine->resched = djk_lookup("__SCT__preempt_schedule");
	if (!machine->resched)
		machine->resched = djk_lookup("preempt_schedule_thunk");
#endif
}

/*
 * All code that runs from the trap up to the guard in run_handlers() is the trap path, which is
 * refused as a site (trap_path.h). The context is like that of an NMI: interrupts are off and
 * in_nmi() holds.
 */
static int notrace on_die(struct notifier_block *block, unsigned long event, void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;
	const struct djk_trap *trap;

	if (event != DIE_INT3 || user_mode(regs))
		return NOTIFY_DONE;
	trap = djk_find_trap(regs->ip - 1);
	if (!trap)
		return NOTIFY_DONE;
	/* The trap itself counts as an NMI, which no task preempts. */
	if (trap->site) {
		/* The int3 may be in the detour. */
		regs->ip = trap->site->trap.address;
		if (run_handlers(regs, trap->site, NMI_OFFSET))
			return NOTIFY_STOP;
	}
	regs->ip = smp_load_acquire(&trap->resume);
	return NOTIFY_STOP;
}
NOKPROBE_SYMBOL(on_die);

static struct notifier_block die_notifier = {
	.notifier_call = on_die,
	/* Before debuggers, which take every int3 for their own. */
	.priority = INT_MAX,
};

/*
 * As register_die_notifier() does, but at the head of the chain. register_die_notifier() would put
 * us behind others of the same priority, which handle other events and would make every hit at an
 * int3 cost a tenth more.
 */
void djk_hit_start(void)
{
	struct atomic_notifier_head *const chain = (void *)djk_imports.die_chain;
	unsigned long flags;

	spin_lock_irqsave(&chain->lock, flags);
	die_notifier.next = chain->head;
	rcu_assign_pointer(chain->head, &die_notifier);
	spin_unlock_irqrestore(&chain->lock, flags);
}

void djk_hit_stop(void)
{
	unregister_die_notifier(&die_notifier);
}
