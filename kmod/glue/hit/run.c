// SPDX-License-Identifier: GPL-2.0
#include "run.h"

#include <linux/bpf.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <asm/cpu_entry_area.h>

static __always_inline struct kprobe *__percpu *running_kprobe(void)
{
	return (struct kprobe * __percpu *)djk_imports.current_kprobe;
}

static __always_inline struct kprobe_ctlblk __percpu *kprobe_control(void)
{
	return (struct kprobe_ctlblk __percpu *)djk_imports.kprobe_ctlblk;
}

/* The program's count changes as bpf_prog_inc_misses_counter() does it, which is not exported. */
void notrace djk_count_miss(struct djk_full_handler *handler, enum djprobe_miss cause)
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
NOKPROBE_SYMBOL(djk_count_miss);

/*
 * in_nmi() holds in every int3, so it does not tell. An NMI that interrupts a handler runs on a
 * stack of its own, and so do the int3s that it meets.
 */
static __always_inline bool on_nmi_stack(void)
{
	const struct cpu_entry_area *area = get_cpu_entry_area(raw_smp_processor_id());
	const unsigned long stack = (unsigned long)area->estacks.NMI_stack;

	return current_stack_pointer - stack < sizeof(area->estacks.NMI_stack);
}

notrace enum djprobe_miss djk_why_missed(int active)
{
	if (active > 0)
		return DJPROBE_MISS_BPF_BUSY;
	return on_nmi_stack() ? DJPROBE_MISS_NMI : DJPROBE_MISS_RECURSION;
}
NOKPROBE_SYMBOL(djk_why_missed);

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

/* bpf_prog_run() returns 32 bits. This returns all 64, with the statistics of __bpf_prog_run(). */
static __always_inline u64 run_entry_program(const struct bpf_prog *prog, struct pt_regs *regs)
{
	struct wide_run run = { .regs = regs };

	__bpf_prog_run(prog, &run, call_wide);
	return run.result;
}

static __always_inline u64 run_on(struct djk_full_handler *handler, bool entry,
				  struct pt_regs *regs)
{
	return entry ? run_entry_program(handler->entry_prog, regs)
		     : bpf_prog_run(handler->prog, regs);
}

/* Apart: kernels are built so that each hit would clear the room for the copy, used or not. */
static noinline u64 run_on_copy(struct djk_full_handler *handler, bool entry,
				const struct pt_regs *regs)
{
	struct pt_regs copy = *regs;

	return run_on(handler, entry, &copy);
}
NOKPROBE_SYMBOL(run_on_copy);

static u64 run_one_of(struct djk_full_handler *handler, bool entry, struct pt_regs *regs)
{
	if (unlikely(handler->copies))
		return run_on_copy(handler, entry, regs);
	return run_on(handler, entry, regs);
}
NOKPROBE_SYMBOL(run_one_of);

/* bpf_get_func_ip() reads the running kprobe. Set it as kprobe_busy_begin() does: a kprobe of the
 * kernel that is hit meanwhile then counts a miss. */
static u64 run_as_kprobe(struct djk_full_handler *handler, bool entry, struct pt_regs *regs)
{
	struct kprobe *const outer = __this_cpu_read(*running_kprobe());
	unsigned long flags;
	u64 result;

	/* Interrupts are off, because a kretprobe of the kernel that returns in one clears the
	 * running kprobe (kretprobe_rethook_handler()). */
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

/* The run context is set as bpf_prog_run_array() does it. */
u64 djk_run_with_context(struct djk_full_handler *handler, bool entry, struct pt_regs *regs)
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
NOKPROBE_SYMBOL(djk_run_with_context);

bool djk_run_as_kernel(struct djk_full_handler *handler, struct pt_regs *regs)
{
	const unsigned long ip = regs->ip, sp = regs->sp;
	unsigned long shown = ip + 1;

	if (handler->as_returned) {
		shown = *(const unsigned long *)sp;
		regs->sp = sp + sizeof(sp);
	} else if (handler->shown_ip) {
		shown = handler->shown_ip;
	}
	regs->ip = shown;
	djk_run_program(handler, regs);
	regs->sp = sp;
	if (regs->ip != shown)
		return true;
	regs->ip = ip;
	return false;
}
NOKPROBE_SYMBOL(djk_run_as_kernel);
