/* SPDX-License-Identifier: GPL-2.0 */
/*
 * djprobe for other modules of the kernel: handlers in C.
 *
 * A probe calls its handlers when a CPU reaches one instruction, by a jump where
 * that is proven safe, else by an int3. Which one it is can change at any time
 * and makes no difference but in cost. How long the instruction is, and which
 * ones a jump replaces, is found out here.
 *
 * Build against it with KBUILD_EXTRA_SYMBOLS=.../Module.symvers of djprobe.ko, as
 * the sample does: kmod/sample in the source, share/djprobe/sample where it is
 * installed, with share/djprobe/RELEASE/Module.symvers beside it.
 */
#ifndef DJPROBE_API_H
#define DJPROBE_API_H

#include <linux/ptrace.h>
#include <linux/types.h>

/* Flags of struct djprobe. */
#define DJPROBE_INT3_ONLY 1 /* never a jump */
#define DJPROBE_DISABLED 2  /* register without arming; enable_djprobe() arms */

/*
 * A probe. Zero-filled but for what the caller sets, and the same memory from
 * register_djprobe() until unregister_djprobe() has returned.
 */
struct djprobe {
	/* Where: symbol_name ("NAME" or "MODULE:NAME") + offset, or addr without a name. The
	 * first byte of a function stands for its entry behind the ftrace call; any other
	 * place must be the first byte of an instruction. */
	const char *symbol_name;
	unsigned long offset;
	void *addr; /* in: without a name; out: the instruction */

	/*
	 * Called before the instruction. `regs` is the interrupted context, complete, with
	 * regs->ip at the instruction; what is changed of the general registers and flags takes
	 * effect. To continue elsewhere change regs->ip (and regs->sp) and return 1: then the
	 * instruction does not run, nor do further handlers of this site. Else return 0.
	 *
	 * Preemption is off; interrupts, and whether this is an NMI, are as they were at the
	 * instruction, or off and NMI-like at an int3. Must not sleep or take a lock that the
	 * probed code may hold. Never nested: a hit from within a handler, of this or another
	 * probe, on the same CPU is counted as missed.
	 *
	 * Faults are as anywhere in such a context: memory that may not be there is read by
	 * copy_from_kernel_nofault() and the like; anything else is a bug of the handler, and an
	 * oops. The probed instruction has no exception fixup (those are refused, EXTABLE_INSN):
	 * its fault is resolved or an oops, as without a probe.
	 */
	int (*pre_handler)(struct djprobe *probe, struct pt_regs *regs);

	/*
	 * Called behind the instruction, with regs->ip there; else like pre_handler. Only where
	 * the instruction always runs straight on: refused with EACCES (POST_AT_BRANCH) at
	 * jumps, calls and returns. flags is 0.
	 */
	void (*post_handler)(struct djprobe *probe, struct pt_regs *regs, unsigned long flags);

	unsigned int flags; /* DJPROBE_INT3_ONLY, DJPROBE_DISABLED */

	/* out: of a refusal, enum djprobe_reason of djprobe_reason.h and its detail; of a
	 * success why it will stay at int3, or 0 */
	unsigned int reason;
	unsigned long detail[2];
};

/*
 * Register a probe. May sleep; takes milliseconds. 0, or with nothing changed:
 *   -ENOENT, -ENOTUNIQ, -ERANGE, -EILSEQ, -EBUSY, -EACCES, -ENOMEM as
 *   DJPROBE_IOC_ATTACH, with its `reason`;
 *   -EINVAL: no handler, unknown flags, symbol_name and addr together, an offset
 *   without symbol_name, or it is registered already; `reason` is as it was, that is 0, and so it
 * is with -ENOMEM when memory runs out before the site is looked at.
 */
int register_djprobe(struct djprobe *probe);

/*
 * The same for `num` probes, all or none, with one quiescence; the refused one has its `reason`.
 * -EINVAL also for a `num` below 1.
 */
int register_djprobes(struct djprobe **probes, int num);

/*
 * When it returns no handler is running or will run any more. May sleep: tens of milliseconds.
 * With a probe that is not registered nothing is done but a line in the log.
 */
void unregister_djprobe(struct djprobe *probe);
void unregister_djprobes(struct djprobe **probes, int num);

/*
 * A disabled probe's site holds its original bytes. Enabling decides anew and
 * may fail as registering may; twice is no error. When disable_djprobe() returns
 * no handler is running any more. May sleep. With a probe that is not registered
 * nothing is done but a line in the log; enable_djprobe() returns -EINVAL.
 */
int enable_djprobe(struct djprobe *probe);
void disable_djprobe(struct djprobe *probe);

/*
 * A probe at the returns of a function, tail calls included, by a replaced return
 * address; stack traces stay true. Zero-filled but for what the caller sets, and
 * the same memory until unregister_djretprobe() has returned.
 */
struct djretprobe {
	const char *symbol_name; /* "NAME" or "MODULE:NAME", */
	void *addr;		 /* or the first byte of the function; out: where it is probed */

	/*
	 * Called at the entry, may be NULL. `data` is data_size bytes of this call's own,
	 * with anything in them. Not 0: this call's return is of no interest.
	 */
	int (*entry_handler)(struct djretprobe *probe, struct pt_regs *regs, void *data);

	/*
	 * Called at the return with the same `data`; regs->ax is the return value, regs->ip
	 * the return address. What is changed of the general registers but ip and sp takes
	 * effect. Both handlers run as djprobe.pre_handler does, and are never nested.
	 */
	void (*handler)(struct djretprobe *probe, struct pt_regs *regs, void *data);

	size_t data_size;	/* at most DJPROBE_RETURN_DATA_MAX */
	unsigned int maxactive; /* calls that may be under way; 0: as many as it takes */
	unsigned int flags;	/* DJPROBE_INT3_ONLY, DJPROBE_DISABLED */

	unsigned int reason; /* out: as in struct djprobe */
	unsigned long detail[2];
};
#define DJPROBE_RETURN_DATA_MAX 2048
#define DJPROBE_RETURN_ACTIVE_MAX (1u << 18)

/*
 * As register_djprobe() and unregister_djprobe(), with the refusals of
 * DJPROBE_ATTACH_SHADOW; -EINVAL: no handler, unknown flags, symbol_name and addr
 * together or neither, data_size or maxactive above its maximum, registered already. Calls that are
 * under way when it is unregistered return unseen, even after this module and djprobe have gone.
 */
int register_djretprobe(struct djretprobe *probe);
void unregister_djretprobe(struct djretprobe *probe);

/*
 * As enable_djprobe() and disable_djprobe(). Calls that begin while it is disabled are never
 * seen; one that began before is seen if it returns when the probe is enabled again.
 */
int enable_djretprobe(struct djretprobe *probe);
void disable_djretprobe(struct djretprobe *probe);

/* How many returns were seen, and how many calls were not. Any context. */
void djretprobe_counts(const struct djretprobe *probe, unsigned long *hits, unsigned long *nmissed);

/* How often the handlers ran, and how often they were skipped. Sums over CPUs. Any context. */
void djprobe_counts(const struct djprobe *probe, unsigned long *hits, unsigned long *missed);

#endif
