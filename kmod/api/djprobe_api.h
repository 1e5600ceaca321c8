/* SPDX-License-Identifier: GPL-2.0 */
/*
 * djprobe for other modules of the kernel: handlers in C.
 *
 * A probe calls its handlers when a CPU reaches one instruction, by a jump where
 * that is proved safe, else by an int3. Which one it is can change at any time,
 * and makes a difference only in cost. The module finds out how long the
 * instruction is, and which ones a jump replaces.
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
 * A probe. The caller zero-fills it, sets what it needs, and keeps it at one
 * place from register_djprobe() until unregister_djprobe() has returned.
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
	 * regs->ip at the instruction. What the handler changes of the general registers and flags
	 * takes effect. To continue elsewhere it changes regs->ip (and regs->sp) and returns 1:
	 * then neither the instruction nor further handlers of this site run. Else it returns 0.
	 *
	 * Preemption is off. With a jump, interrupts are on or off as at the instruction, which may
	 * run in an NMI; with an int3, interrupts are off and in_nmi() holds. The handler must not
	 * sleep, nor take a lock that the probed code may hold. Handlers never nest: a hit from
	 * within a handler, of this or another probe, on the same CPU is counted as missed.
	 *
	 * Faults are as anywhere in such a context: the handler reads memory that may not be there
	 * by copy_from_kernel_nofault() and the like; any other fault is a bug of the handler, and
	 * an oops. The probed instruction has no exception fixup (EXTABLE_INSN refuses those): the
	 * kernel resolves its fault or oopses, as without a probe.
	 */
	int (*pre_handler)(struct djprobe *probe, struct pt_regs *regs);

	/*
	 * Called behind the instruction, with regs->ip there; else like pre_handler, but no hit or
	 * miss is counted. Jumps, calls and returns, behind which the CPU may be elsewhere, are
	 * refused: EACCES with POST_AT_BRANCH. `flags` is 0.
	 */
	void (*post_handler)(struct djprobe *probe, struct pt_regs *regs, unsigned long flags);

	unsigned int flags; /* DJPROBE_INT3_ONLY, DJPROBE_DISABLED */

	/* out: enum djprobe_reason of djprobe_reason.h and its detail: why it was refused; on
	 * success why it will stay at int3, or 0 */
	unsigned int reason;
	unsigned long detail[2];
};

/*
 * Register a probe. May sleep; takes milliseconds, the very first one seconds. 0, or with nothing
 * changed:
 *   -ENOENT, -ENOTUNIQ, -ERANGE, -EILSEQ, -EBUSY, -EACCES, -ENOMEM as
 *   DJPROBE_IOC_ATTACH, with its `reason`;
 *   -EINTR: the calling task has been killed;
 *   -EINVAL: no handler, unknown flags, symbol_name and addr together, an offset
 *   without symbol_name, or it is registered already.
 * `reason` stays as it was, that is 0, with -EINVAL, and with -EINTR or -ENOMEM when no site is at
 * fault.
 */
int register_djprobe(struct djprobe *probe);

/*
 * The same for `num` probes, all or none, with one quiescence; the probe that is refused has its
 * `reason`. -EINVAL also for a `num` below 1.
 */
int register_djprobes(struct djprobe **probes, int num);

/*
 * When it returns no handler is running or will run any more. May sleep, tens of milliseconds. For
 * a probe that is not registered it only writes a line to the log.
 */
void unregister_djprobe(struct djprobe *probe);
void unregister_djprobes(struct djprobe **probes, int num);

/*
 * A disabled probe leaves its site: one without other probes holds its original
 * bytes. Enabling decides anew and may fail as registering may; doing it twice is
 * no error. When disable_djprobe() returns no handler is running any more. May
 * sleep. For a probe that is not registered they only write a line to the log;
 * enable_djprobe() returns -EINVAL.
 */
int enable_djprobe(struct djprobe *probe);
void disable_djprobe(struct djprobe *probe);

/*
 * A probe at the returns of a function, tail calls included. It replaces the return
 * address; stack traces stay true. The caller zero-fills it, sets what it needs, and
 * keeps it at one place until unregister_djretprobe() has returned.
 */
struct djretprobe {
	const char *symbol_name; /* "NAME" or "MODULE:NAME", */
	void *addr;		 /* or the first byte of the function; out: where it is probed */

	/*
	 * Called at the entry; NULL: every call is of interest. `data` are data_size bytes of this
	 * call, with anything in them. A result that is not 0 says: do not show me this return.
	 */
	int (*entry_handler)(struct djretprobe *probe, struct pt_regs *regs, void *data);

	/*
	 * Called at the return with the same `data`; regs->ax is the return value, regs->ip the
	 * return address. What the handler changes of the general registers takes effect, except ip
	 * and sp. Both handlers run in the context of djprobe.pre_handler, and never nest.
	 */
	void (*handler)(struct djretprobe *probe, struct pt_regs *regs, void *data);

	size_t data_size;	/* bytes, at most DJPROBE_RETURN_DATA_MAX */
	unsigned int maxactive; /* the most calls under way; 0: the module adds room on demand */
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
 * under way when it is unregistered return unseen, even after the caller's module and djprobe have
 * gone.
 */
int register_djretprobe(struct djretprobe *probe);
void unregister_djretprobe(struct djretprobe *probe);

/*
 * As enable_djprobe() and disable_djprobe(). The probe never sees calls that begin while it is
 * disabled; it sees one that began before if that returns when the probe is enabled again.
 */
int enable_djretprobe(struct djretprobe *probe);
void disable_djretprobe(struct djretprobe *probe);

/* How many returns the handler has seen, and how many calls or returns were missed: sums over all
 * CPUs. In any context. 0 for a probe that is not registered. */
void djretprobe_counts(const struct djretprobe *probe, unsigned long *hits, unsigned long *nmissed);

/* How often pre_handler ran, and how often it was skipped: sums over all CPUs. In any context. 0
 * for a probe that is not registered. */
void djprobe_counts(const struct djprobe *probe, unsigned long *hits, unsigned long *missed);

#endif
