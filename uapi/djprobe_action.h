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
};

#define DJPROBE_LOG2_SLOTS 65
#define DJPROBE_ACTIONS_MAX 14 /* in a list */
#define DJPROBE_EXTREMES_MAX 4 /* MAX and MIN among them */
#define DJPROBE_OPERANDS_MAX 8 /* different registers in its operands: others are needed */

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

struct djprobe_action {
	unsigned char operation;  /* enum djprobe_action_operation */
	unsigned char reg;	  /* the operand: a register, or an enum djprobe_task_field; 0 where
				   * there is none, as the next two */
	unsigned char width;	  /* 1, 2, 4 or 8 bytes of it */
	unsigned char flags;	  /* DJPROBE_ACTION_SIGNED, and _TASK or _MEMORY */
	unsigned int offset;	  /* bytes from the probe's counter on, a multiple of 8; IF_*: 0, or
				   * the displacement */
	unsigned long long value; /* IF_*: what the operand is compared with; else 0, or the
				   * displacement: a signed number of 32 bits */
};

#endif
