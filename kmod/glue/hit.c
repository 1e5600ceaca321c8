// SPDX-License-Identifier: GPL-2.0
/* What happens when a CPU reaches a site: guard, count, run the BPF programs. */
#include "hit.h"

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>

#include "../api/djprobe_api.h"
#include "handler.h"
#include "imports.h"

/*
 * What a handler of ours adds to bpf_prog_active while it runs. BPF programs add
 * 1 and only look whether it was 0, so the sum also tells who is running.
 */
#define OUR_MARK 0x10000

static __always_inline int __percpu *bpf_active(void)
{
	return (int __percpu *)djk_imports.bpf_prog_active;
}

static __always_inline struct kprobe *__percpu *running_kprobe(void)
{
	return (struct kprobe * __percpu *)djk_imports.current_kprobe;
}

static __always_inline struct kprobe_ctlblk __percpu *kprobe_control(void)
{
	return (struct kprobe_ctlblk __percpu *)djk_imports.kprobe_ctlblk;
}

static __always_inline struct djk_handler *first_handler(const struct djk_site *site)
{
	/* Handlers are freed after quiescence, which waits for us: preemption is off. */
	return (struct djk_handler *)smp_load_acquire(&site->probes);
}

static __always_inline struct djk_handler *next_handler(const struct djk_handler *handler)
{
	return (struct djk_handler *)smp_load_acquire(&handler->link.next);
}

static void miss(const struct djk_site *site, enum djprobe_miss cause)
{
	const struct djk_handler *handler;

	for (handler = first_handler(site); handler; handler = next_handler(handler))
		this_cpu_inc(handler->counters->missed[cause]);
}
NOKPROBE_SYMBOL(miss);

static __always_inline enum djprobe_miss why_missed(unsigned int active)
{
	return active >= OUR_MARK ? DJPROBE_MISS_RECURSION : DJPROBE_MISS_BPF_BUSY;
}

/*
 * Preemption is off, which is a reader's side of RCU; but with lock debugging
 * helpers want to see rcu_read_lock().
 */
static __always_inline void lock_rcu(void)
{
	if (IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		rcu_read_lock();
}

static __always_inline void unlock_rcu(void)
{
	if (IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		rcu_read_unlock();
}

/* For helpers that ask who has attached the program, and where. */
static void run_with_context(struct djk_handler *handler, struct pt_regs *regs)
{
	struct kprobe *const outer_probe = __this_cpu_read(*running_kprobe());
	struct bpf_trace_run_ctx context = { .bpf_cookie = handler->cookie };
	struct bpf_run_ctx *outer = bpf_set_run_ctx(&context.run_ctx);

	/* bpf_get_func_ip() looks here; a kprobe of the kernel's own that is hit meanwhile, too. */
	if (!outer_probe)
		__this_cpu_write(kprobe_control()->kprobe_status, KPROBE_HIT_ACTIVE);
	__this_cpu_write(*running_kprobe(), &handler->identity);
	bpf_prog_run(handler->prog, regs);
	__this_cpu_write(*running_kprobe(), outer_probe);
	bpf_reset_run_ctx(outer);
}
NOKPROBE_SYMBOL(run_with_context);

/* True: the probed text is to continue at regs->ip. */
static bool run_c_handler(struct djk_handler *handler, struct pt_regs *regs)
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

static __always_inline bool run_handler(struct djk_handler *handler, struct pt_regs *regs)
{
	const unsigned long ip = regs->ip;

	if (unlikely(handler->c_probe))
		return run_c_handler(handler, regs);
	if (handler->needs_context)
		run_with_context(handler, regs);
	else
		bpf_prog_run(handler->prog, regs);
	this_cpu_inc(handler->counters->hits);
	return regs->ip != ip;
}

/* Behind the probed instruction. What was skipped before it has been counted there. */
static void run_after(struct pt_regs *regs, const struct djk_site *site)
{
	const unsigned long ip = regs->ip;
	struct djk_handler *handler;

	preempt_disable();
	if (!__this_cpu_read(*bpf_active())) {
		__this_cpu_add(*bpf_active(), OUR_MARK);
		for (handler = first_handler(site); handler; handler = next_handler(handler))
			if (handler->c_probe && handler->c_probe->post_handler)
				handler->c_probe->post_handler(handler->c_probe, regs, 0);
		__this_cpu_sub(*bpf_active(), OUR_MARK);
	}
	preempt_enable();
	regs->ip = ip;
}
NOKPROBE_SYMBOL(run_after);

bool notrace djk_hit(struct pt_regs *regs, struct djk_site *site)
{
	struct djk_handler *handler;
	bool redirected = false;
	unsigned int active;

	if (unlikely((unsigned long)site & DJK_AFTER)) {
		run_after(regs, (void *)((unsigned long)site & ~DJK_AFTER));
		return false;
	}
	preempt_disable();
	active = __this_cpu_read(*bpf_active());
	if (unlikely(active)) {
		miss(site, why_missed(active));
	} else {
		__this_cpu_add(*bpf_active(), OUR_MARK);
		lock_rcu();
		handler = first_handler(site);
		for (; handler && !redirected; handler = next_handler(handler))
			redirected = run_handler(handler, regs);
		unlock_rcu();
		__this_cpu_sub(*bpf_active(), OUR_MARK);
	}
	preempt_enable();
	return redirected;
}
NOKPROBE_SYMBOL(djk_hit);

void notrace djk_hit_slow(struct pt_regs *regs, struct djk_probe *probe)
{
	struct djk_handler *handler = container_of(probe, struct djk_handler, link);
	const unsigned int active = __this_cpu_read(*bpf_active());

	if (active) {
		this_cpu_inc(handler->counters->missed[why_missed(active)]);
		return;
	}
	__this_cpu_add(*bpf_active(), OUR_MARK);
	bpf_prog_run(handler->prog, regs);
	this_cpu_inc(handler->counters->hits);
	__this_cpu_sub(*bpf_active(), OUR_MARK);
}
NOKPROBE_SYMBOL(djk_hit_slow);

void djk_get_guard(struct djk_machine *machine)
{
	machine->hit_handler = (unsigned long)djk_hit;
	machine->slow_handler = (unsigned long)djk_hit_slow;
	machine->active = djk_imports.bpf_prog_active;
	machine->mark = OUR_MARK;
	machine->stats = djk_imports.bpf_stats_enabled_key;
#ifdef CONFIG_PREEMPT_COUNT
#ifdef DJK_PCPU_HOT
	machine->preempt_count = (unsigned long)&pcpu_hot.preempt_count;
#else
	machine->preempt_count = (unsigned long)&__preempt_count;
#endif
#endif
#ifdef CONFIG_PREEMPTION
	/* What preempt_enable() calls: with PREEMPT_DYNAMIC whatever was chosen at boot. */
	machine->resched = djk_lookup("__SCT__preempt_schedule");
	if (!machine->resched)
		machine->resched = djk_lookup("preempt_schedule_thunk");
#endif
}

/*
 * Everything that runs from the trap up to the guard in djk_hit() belongs to the
 * trap path that is refused as a site (trap_path.h). NMI-like context: interrupts
 * are off and in_nmi() holds.
 */
static int notrace on_die(struct notifier_block *block, unsigned long event, void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;
	struct djk_trap *trap;

	if (event != DIE_INT3 || user_mode(regs))
		return NOTIFY_DONE;
	trap = djp_find_trap(regs->ip - 1);
	if (!trap)
		return NOTIFY_DONE;
	regs->ip--;
	if (!trap->site || !djk_hit(regs, trap->site))
		regs->ip = smp_load_acquire(&trap->resume);
	return NOTIFY_STOP;
}
NOKPROBE_SYMBOL(on_die);

static struct notifier_block die_notifier = {
	.notifier_call = on_die,
	/* Before debuggers, which take every int3 for theirs. */
	.priority = INT_MAX,
};

int djk_hit_start(void)
{
	return register_die_notifier(&die_notifier);
}

void djk_hit_stop(void)
{
	unregister_die_notifier(&die_notifier);
}
