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

#include "handler.h"
#include "imports.h"

/* Above 0 while a handler runs on this CPU. */
static DEFINE_PER_CPU(unsigned int, djk_depth);

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

static __always_inline void run_handler(struct djk_handler *handler, struct pt_regs *regs)
{
	struct bpf_trace_run_ctx context = { .bpf_cookie = handler->cookie };
	struct bpf_run_ctx *outer = bpf_set_run_ctx(&context.run_ctx);

	/* bpf_get_func_ip() looks here. */
	__this_cpu_write(*running_kprobe(), &handler->identity);
	rcu_read_lock();
	bpf_prog_run(handler->prog, regs);
	rcu_read_unlock();
	bpf_reset_run_ctx(outer);
	this_cpu_inc(handler->counters->hits);
}

static __always_inline void run_handlers(const struct djk_site *site, struct pt_regs *regs)
{
	struct kprobe *const outer = __this_cpu_read(*running_kprobe());
	struct djk_handler *handler;

	/*
	 * The kernel's own kprobes take us for one of theirs while we run: those hit from within
	 * a handler are skipped and counted as theirs are. They check this state, too.
	 */
	if (!outer)
		__this_cpu_write(kprobe_control()->kprobe_status, KPROBE_HIT_ACTIVE);
	for (handler = first_handler(site); handler; handler = next_handler(handler))
		run_handler(handler, regs);
	__this_cpu_write(*running_kprobe(), outer);
}

bool notrace djk_hit(struct pt_regs *regs, struct djk_site *site)
{
	const unsigned long ip = regs->ip;

	preempt_disable();
	if (unlikely(__this_cpu_inc_return(djk_depth) != 1))
		miss(site, DJPROBE_MISS_RECURSION);
	else if (unlikely(__this_cpu_inc_return(*bpf_active()) != 1)) {
		miss(site, DJPROBE_MISS_BPF_BUSY);
		__this_cpu_dec(*bpf_active());
	} else {
		run_handlers(site, regs);
		__this_cpu_dec(*bpf_active());
	}
	__this_cpu_dec(djk_depth);
	preempt_enable();
	return regs->ip != ip;
}
NOKPROBE_SYMBOL(djk_hit);

/*
 * In the place of a program that a detour calls itself, when that must not run or not without
 * bookkeeping. Preemption is off.
 */
void notrace djk_hit_slow(struct pt_regs *regs, struct djk_probe *probe)
{
	struct djk_handler *handler = container_of(probe, struct djk_handler, link);

	if (__this_cpu_read(djk_depth)) {
		this_cpu_inc(handler->counters->missed[DJPROBE_MISS_RECURSION]);
		return;
	}
	if (__this_cpu_read(*bpf_active())) {
		this_cpu_inc(handler->counters->missed[DJPROBE_MISS_BPF_BUSY]);
		return;
	}
	__this_cpu_inc(djk_depth);
	__this_cpu_inc(*bpf_active());
	bpf_prog_run(handler->prog, regs);
	this_cpu_inc(handler->counters->hits);
	__this_cpu_dec(*bpf_active());
	__this_cpu_dec(djk_depth);
}
NOKPROBE_SYMBOL(djk_hit_slow);

void djk_get_guard(struct djk_machine *machine)
{
	machine->hit_handler = (unsigned long)djk_hit;
	machine->slow_handler = (unsigned long)djk_hit_slow;
	machine->active = djk_imports.bpf_prog_active;
	machine->depth = (unsigned long)&djk_depth;
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
