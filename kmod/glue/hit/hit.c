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
#include "handler.h"
#include "../kernel/imports.h"
#include "shadow.h"

/*
 * What a handler of ours adds to bpf_prog_active while it runs. BPF programs add
 * 1 and only look whether it was 0, so the sum also tells who is running. As one
 * byte, which makes detours shorter; below 0, where no number of tasks that were
 * preempted with a 1 of their own gets.
 */
#define OUR_MARK (-128)

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

static __always_inline struct djk_full_handler *first_handler(const struct djk_site *site)
{
	/* Handlers are freed after quiescence, which waits for us: preemption is off. */
	return (struct djk_full_handler *)smp_load_acquire(&site->handlers);
}

static __always_inline struct djk_full_handler *next_handler(const struct djk_full_handler *handler)
{
	return (struct djk_full_handler *)smp_load_acquire(&handler->link.next);
}

/* Preemption is off. Also for `bpftool prog`, where those of the kernel's own kprobes are. */
static __always_inline void count_miss(struct djk_full_handler *handler, enum djprobe_miss cause)
{
	struct bpf_prog_stats *stats;
	unsigned long flags;

	this_cpu_inc(handler->counters->missed[cause]);
	if (!handler->prog)
		return;
	stats = this_cpu_ptr(handler->prog->stats);
	flags = u64_stats_update_begin_irqsave(&stats->syncp);
	u64_stats_inc(&stats->misses);
	u64_stats_update_end_irqrestore(&stats->syncp, flags);
}

/* Not traced, like djk_hit(): what traces may be a site, whose hit would be a miss again. */
static notrace void miss(const struct djk_site *site, enum djprobe_miss cause)
{
	struct djk_full_handler *handler;

	for (handler = first_handler(site); handler; handler = next_handler(handler))
		count_miss(handler, cause);
}
NOKPROBE_SYMBOL(miss);

/*
 * in_nmi() holds in every int3. An NMI that interrupts a handler, being in the
 * kernel, is on its own stack; what int3s it meets stay there.
 */
static __always_inline bool on_nmi_stack(void)
{
	const struct cpu_entry_area *area = get_cpu_entry_area(raw_smp_processor_id());
	const unsigned long stack = (unsigned long)area->estacks.NMI_stack;

	return current_stack_pointer - stack < sizeof(area->estacks.NMI_stack);
}

/* Preemption is off. What this calls is never a site: the guard is not ours here. */
static noinline notrace enum djprobe_miss why_missed(int active)
{
	if (active > 0)
		return DJPROBE_MISS_BPF_BUSY;
	return on_nmi_stack() ? DJPROBE_MISS_NMI : DJPROBE_MISS_RECURSION;
}
NOKPROBE_SYMBOL(why_missed);

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

struct wide_run {
	struct pt_regs *regs;
	u64 result;
};

static __always_inline unsigned int call_wide(const void *data, const struct bpf_insn *insns,
					      bpf_func_t program)
{
	struct wide_run *const run = (void *)data;
	u64 (*const code)(const void *, const struct bpf_insn *) = (void *)program;

	run->result = code(run->regs, insns);
	return 0;
}

/* What it returns is 64 bits wide, which bpf_prog_run() does not know; its statistics are. */
static __always_inline u64 run_entry_program(const struct bpf_prog *prog, struct pt_regs *regs)
{
	struct wide_run run = { .regs = regs };

	__bpf_prog_run(prog, &run, call_wide);
	return run.result;
}

static u64 run_one_of(struct djk_full_handler *handler, bool entry, struct pt_regs *regs)
{
	return entry ? run_entry_program(handler->entry_prog, regs)
		     : bpf_prog_run(handler->prog, regs);
}
NOKPROBE_SYMBOL(run_one_of);

/* bpf_get_func_ip() looks for a running kprobe; a kprobe of the kernel's own that is hit, too. */
static u64 run_as_kprobe(struct djk_full_handler *handler, bool entry, struct pt_regs *regs)
{
	struct kprobe *const outer = __this_cpu_read(*running_kprobe());
	unsigned long flags;
	u64 result;

	/* A kretprobe of the kernel's that returns in an interrupt leaves no running kprobe behind.
	 */
	local_irq_save(flags);
	if (!outer)
		__this_cpu_write(kprobe_control()->kprobe_status, KPROBE_HIT_ACTIVE);
	__this_cpu_write(*running_kprobe(), &handler->identity);
	result = run_one_of(handler, entry, regs);
	__this_cpu_write(*running_kprobe(), outer);
	local_irq_restore(flags);
	return result;
}
NOKPROBE_SYMBOL(run_as_kprobe);

/* For helpers that ask who has attached the program, and where. */
static u64 run_with_context(struct djk_full_handler *handler, bool entry, struct pt_regs *regs)
{
	struct bpf_trace_run_ctx context = { .bpf_cookie = handler->cookie };
	struct bpf_run_ctx *outer = bpf_set_run_ctx(&context.run_ctx);
	u64 result;

	if (handler->asks_where)
		result = run_as_kprobe(handler, entry, regs);
	else
		result = run_one_of(handler, entry, regs);
	bpf_reset_run_ctx(outer);
	return result;
}
NOKPROBE_SYMBOL(run_with_context);

/* True: the probed text is to continue at regs->ip. */
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

static __always_inline void run_program(struct djk_full_handler *handler, struct pt_regs *regs)
{
	if (handler->needs_context)
		run_with_context(handler, false, regs);
	else
		bpf_prog_run(handler->prog, regs);
	this_cpu_inc(handler->counters->hits);
}

static bool run_special_handler(struct djk_full_handler *handler, struct pt_regs *regs,
				unsigned int nmi)
{
	const unsigned long ip = regs->ip;

	if (handler->c_probe)
		return run_c_handler(handler, regs);
	if (handler->shadow)
		djk_shadow_enter(handler, regs, nmi);
	else
		run_program(handler, regs);
	return regs->ip != ip;
}
NOKPROBE_SYMBOL(run_special_handler);

/* It cannot redirect: its context is read-only, and it does not call bpf_override_return(). */
static __always_inline void run_plain_handler(struct djk_full_handler *handler,
					      struct pt_regs *regs)
{
	bpf_prog_run(handler->prog, regs);
	this_cpu_inc(handler->counters->hits);
}

/* Preemption is off. `nmi`: what in_nmi() says of our own trap, if it led here. */
static __always_inline bool run_handlers(struct pt_regs *regs, const struct djk_site *site,
					 unsigned int nmi)
{
	const int active = __this_cpu_read(*bpf_active());
	struct djk_full_handler *handler;
	bool redirected = false;

	if (unlikely(active)) {
		miss(site, why_missed(active));
		return false;
	}
	__this_cpu_add(*bpf_active(), OUR_MARK);
	lock_rcu();
	for (handler = first_handler(site); handler; handler = next_handler(handler)) {
		if (likely(handler->plain)) {
			run_plain_handler(handler, regs);
			continue;
		}
		redirected = run_special_handler(handler, regs, nmi);
		if (redirected)
			break;
	}
	unlock_rcu();
	__this_cpu_sub(*bpf_active(), OUR_MARK);
	return redirected;
}

/* Behind the probed instruction. What was skipped before it has been counted there. */
static notrace void run_after(struct pt_regs *regs, const struct djk_site *site)
{
	const unsigned long ip = regs->ip;
	struct djk_full_handler *handler;

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

static bool begin_c_call(struct djk_full_handler *handler, struct pt_regs *regs, void *data)
{
	const unsigned long ip = regs->ip, sp = regs->sp;
	const bool wanted = !handler->c_return->entry_handler(handler->c_return, regs, data);

	regs->ip = ip;
	regs->sp = sp;
	return wanted;
}
NOKPROBE_SYMBOL(begin_c_call);

bool notrace djk_begin_call(struct djk_full_handler *handler, struct pt_regs *regs, void *data)
{
	struct djk_session_call *const call = data;

	if (handler->c_return)
		return begin_c_call(handler, regs, data);
	call->cookie = run_with_context(handler, true, regs);
	call->entered = ktime_get_mono_fast_ns();
	return call->cookie;
}
NOKPROBE_SYMBOL(djk_begin_call);

/* Run the handler, with what was kept of the call at its entry. */
static void end_call(struct djk_full_handler *handler, struct pt_regs *regs, void *data)
{
	const struct djk_session_call *const call = data;
	const unsigned long ip = regs->ip, di = regs->di, si = regs->si;

	if (handler->c_return) {
		this_cpu_inc(handler->counters->hits);
		handler->c_return->handler(handler->c_return, regs, data);
		regs->ip = ip;
		return;
	}
	/* Compilers may know that the function leaves them alone. */
	regs->di = call->cookie;
	regs->si = call->entered;
	run_program(handler, regs);
	regs->di = di;
	regs->si = si;
}
NOKPROBE_SYMBOL(end_call);

#ifdef CONFIG_RETHOOK
#ifdef DJK_RETHOOK_RET_ADDR
void notrace djk_on_return(struct rethook_node *node, void *data, unsigned long return_address,
			   struct pt_regs *regs)
#else
void notrace djk_on_return(struct rethook_node *node, void *data, struct pt_regs *regs)
#endif
{
	struct djk_full_handler *const handler = data;
	const unsigned int active = __this_cpu_read(*bpf_active());

	if (unlikely(active)) {
		count_miss(handler, why_missed(active));
		return;
	}
	__this_cpu_add(*bpf_active(), OUR_MARK);
	lock_rcu();
	if (unlikely(handler->begins || handler->c_return))
		end_call(handler, regs, node + 1);
	else
		run_program(handler, regs);
	unlock_rcu();
	__this_cpu_sub(*bpf_active(), OUR_MARK);
}
NOKPROBE_SYMBOL(djk_on_return);
#endif

void notrace djk_hit_slow(struct pt_regs *regs, struct djk_handler *probe)
{
	struct djk_full_handler *handler = container_of(probe, struct djk_full_handler, link);
	const int active = __this_cpu_read(*bpf_active());

	if (active) {
		count_miss(handler, why_missed(active));
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
	machine->slow_thunk = (unsigned long)djk_hit_slow_thunk;
	machine->shadow_entry = (unsigned long)djk_shadow_entry;
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
	const struct djk_trap *trap;

	if (event != DIE_INT3 || user_mode(regs))
		return NOTIFY_DONE;
	trap = djk_find_trap(regs->ip - 1);
	if (!trap)
		return NOTIFY_DONE;
	regs->ip--;
	/* The trap counts as an NMI by itself; nobody preempts one. */
	if (!trap->site || !run_handlers(regs, trap->site, NMI_OFFSET))
		regs->ip = smp_load_acquire(&trap->resume);
	return NOTIFY_STOP;
}
NOKPROBE_SYMBOL(on_die);

static struct notifier_block die_notifier = {
	.notifier_call = on_die,
	/* Before debuggers, which take every int3 for theirs. */
	.priority = INT_MAX,
};

/*
 * As register_die_notifier(), but first: it puts us behind those of the same priority, which care
 * for other events only and would cost every hit at int3 a tenth more.
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
