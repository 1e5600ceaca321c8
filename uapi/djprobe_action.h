/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What a probe that counts does on a hit, beside the plain increment: a short list of actions. In
 * front of a program the conditions among them say which hits it sees.
 *
 * A CPU that hits the site takes the list's actions one after the other, without a program, a call,
 * a loop or a lock. The jump's code holds them as instructions; at int3 the module interprets them.
 *
 * The module's code generator and its C code share this header. It needs no other one.
 */
#ifndef DJPROBE_ACTION_H
#define DJPROBE_ACTION_H

/*
 * An operand is a register as it is before the probed instruction, `sp` as the site's; or with
 * DJPROBE_ACTION_TASK a field of the task that runs, or with DJPROBE_ACTION_MEMORY what is stored
 * at the register's address plus a displacement: of that the lowest 1, 2, 4 or 8 bytes, extended to
 * 64 bits by zeros or, with DJPROBE_ACTION_SIGNED, by its sign.
 *
 * Memory is read only where that cannot fault: those bytes that the probed instruction itself
 * reads, by the same register and displacement, without an index; and up to 8 bytes at `sp` in
 * what a compiler has made. A site for which that does not hold is refused (OPERAND_MAY_FAULT). A
 * register of a device may change by being read: the instruction reads it then for the second time.
 */
enum djprobe_action_operation {
	/* The counter at `offset` is incremented. No operand. */
	DJPROBE_ACTION_COUNT = 1,
	/* The operand is added to the counter at `offset`, modulo 2^64. */
	DJPROBE_ACTION_ADD = 2,
	/*
	 * One of the DJPROBE_LOG2_SLOTS counters from `offset` on is incremented: slot 0 for an
	 * operand of 0, slot n for one from 2^(n-1) to 2^n - 1. The operand counts as unsigned, so
	 * a negative one goes to the last slot.
	 */
	DJPROBE_ACTION_LOG2 = 3,
	/* The list ends here, unless the operand compares so with `value`: by sign with
	 * DJPROBE_ACTION_SIGNED. */
	DJPROBE_ACTION_IF_EQ = 4,
	DJPROBE_ACTION_IF_NE = 5,
	DJPROBE_ACTION_IF_LT = 6,
	DJPROBE_ACTION_IF_LE = 7,
	DJPROBE_ACTION_IF_GT = 8,
	DJPROBE_ACTION_IF_GE = 9,
	/*
	 * The counter at `offset` holds the greatest operand of this CPU, or of the least one its
	 * complement: so the greatest counter of all CPUs tells about all hits, and 0 is what a
	 * counter begins with. With DJPROBE_ACTION_SIGNED 2^63 is added to the operand first.
	 *
	 * No single instruction does that. A hit tries twice to store an operand that is greater
	 * than what it has read; if others have stored meanwhile both times, as interrupts and
	 * tasks that run in between do, it increments the next counter, at `offset` + 8. As long as
	 * that is 0 the result is exact.
	 */
	DJPROBE_ACTION_MAX = 10,
	DJPROBE_ACTION_MIN = 11,
	/*
	 * The CPU's time stamp counter is read and stored as the time of the task that runs (see
	 * DJPROBE_TIMES_HEAD). Of the three counters from `offset` on one is incremented: the first
	 * if the task had no time, the second if it had one, which is lost, the third if it has no
	 * place for one. With the third, and for a task that takes no part, the list ends.
	 */
	DJPROBE_ACTION_TIME = 12,
	/*
	 * The task's time is taken out, then the time stamp counter is read. The ticks from one to
	 * the other times `value` / 2^32 is what later operands with DJPROBE_ACTION_TOOK are; 0
	 * where the counter has gone back. The list ends if there is no time: of the two counters
	 * from `offset` on the first is incremented then, the second if the task has no place for
	 * one, and none for a task that takes no part.
	 */
	DJPROBE_ACTION_ELAPSED = 13,
};

#define DJPROBE_LOG2_SLOTS 65
#define DJPROBE_ACTIONS_MAX 14 /* in a list */
#define DJPROBE_EXTREMES_MAX 4 /* MAX and MIN among them */
#define DJPROBE_OPERANDS_MAX 8 /* different registers in its operands: others are needed */
/* TIME or ELAPSED: one in a list, in which no operand is a register then, nor memory. */
#define DJPROBE_TIMERS_MAX 1

/*
 * Where TIME and ELAPSED keep the times of tasks: a BPF map of type array, with DJPROBE_TIMES_HEAD
 * + 2^n values of 8 bytes (`times_fd` of struct djprobe_attach_many). Its values by their keys:
 *
 *   0  the greatest number of a task that takes part, at most 2^n - 1: the switch. 0: none does
 *   DJPROBE_TIMES_INDEX(1 + CPU, DJPROBE_TIMES_HEAD - 1)  the time of the CPU's idle task
 *   DJPROBE_TIMES_HEAD  ~0, which leads idle tasks, whose number is 0, to their own
 *   DJPROBE_TIMES_HEAD + DJPROBE_TIMES_INDEX(N, 2^n - 1)  the time of task N
 *
 * Write the ~0 before the probes are attached: an idle task that finds another value there takes it
 * for its time, whatever the switch says. Of the switch the lower 32 bits count.
 *
 * A time is 0 if there is none, and ~0 for a task that takes no part. Only tasks with numbers of
 * 2^n or more have no place; above the switch, up to that, they take no part. One instruction
 * stores or takes a time, whatever else may want to in an interrupt, or in an NMI. The module
 * writes the times of the task that runs, nothing else; that a new task has the number, and the
 * time, of one that has ended, is the caller's business, as are tasks that change their number in
 * execve().
 *
 * The reading of the time stamp counter waits for the instructions before it (lfence), as where the
 * kernel reads it as a clock. Whether it is one, the caller has to know.
 */
#define DJPROBE_TIMES_HEAD 8192
/* Each has a place of its own, since the factor is odd, and those with numbers in a row are in
 * different cache lines. */
#define DJPROBE_TIMES_FACTOR 2654435761u
#define DJPROBE_TIMES_INDEX(number, mask) ((number)*DJPROBE_TIMES_FACTOR & (mask))

/* Registers by their numbers in instructions: ax cx dx bx sp bp si di, 8 to 15. */
#define DJPROBE_REG_SP 4
#define DJPROBE_REGS 16

/*
 * What DJPROBE_ACTION_TASK reads. An interrupt belongs to the task that it interrupts. The numbers
 * are those of the initial PID namespace. A name of 16 bytes, with zeros behind its end, is two
 * operands; while another task writes it, they may be of two names.
 */
enum djprobe_task_field {
	DJPROBE_TASK_TGID = 0,	 /* 4 bytes: the process, getpid() */
	DJPROBE_TASK_PID = 1,	 /* 4 bytes: the thread, gettid() */
	DJPROBE_TASK_COMM = 2,	 /* the first 8 bytes of its name */
	DJPROBE_TASK_COMM_8 = 3, /* the last 8 bytes of its name */
};
#define DJPROBE_TASK_FIELDS 4

/* 0: there is no such field. */
static inline unsigned int djprobe_task_field_size(unsigned int field)
{
	if (field >= DJPROBE_TASK_FIELDS)
		return 0;
	return field >= DJPROBE_TASK_COMM ? 8 : 4;
}

#define DJPROBE_ACTION_SIGNED 1
#define DJPROBE_ACTION_TASK 2
#define DJPROBE_ACTION_MEMORY 4
/* The operand is what the list's ELAPSED has found, all 8 bytes without a sign; `reg` is 0. */
#define DJPROBE_ACTION_TOOK 8

struct djprobe_action {
	unsigned char operation; /* enum djprobe_action_operation */
	unsigned char reg;	 /* the operand: a register, or an enum djprobe_task_field; 0 where
				  * there is none, as the next two */
	unsigned char width;	 /* 1, 2, 4 or 8 bytes of it */
	unsigned char flags;	 /* DJPROBE_ACTION_SIGNED, and _TASK or _MEMORY; or _TOOK */
	unsigned int offset;	 /* bytes from the probe's counter on, a multiple of 8; IF_*: 0, or
				  * the displacement */
	unsigned long long
		value; /* IF_*: what the operand is compared with; ELAPSED: see there, not
			* 0; else 0, or the displacement: a signed number of 32 bits */
};

#endif
