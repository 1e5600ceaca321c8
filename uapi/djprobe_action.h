/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What a probe that counts does on a hit, beside the plain increment: a short list of actions.
 *
 * A CPU that hits the site takes the list's actions one after the other, without a program, a call,
 * a loop or a lock. The jump's code holds them as instructions; at int3 the module interprets them.
 *
 * The module's code generator and its C code share this header. It needs no other one.
 */
#ifndef DJPROBE_ACTION_H
#define DJPROBE_ACTION_H

/*
 * An operand is a register as it is before the probed instruction: its lowest 1, 2, 4 or 8 bytes,
 * extended to 64 bits by zeros or, with DJPROBE_ACTION_SIGNED, by its sign. `sp` is the site's.
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
	/* There is no minimum and no maximum: no single instruction on memory computes one, and
	 * between two an interrupt or a migration would lose a value. A histogram has both, up to a
	 * factor of two. */
};

#define DJPROBE_LOG2_SLOTS 65
#define DJPROBE_ACTIONS_MAX 8 /* in a list */

/* Registers by their numbers in instructions: ax cx dx bx sp bp si di, 8 to 15. */
#define DJPROBE_REG_SP 4
#define DJPROBE_REGS 16

#define DJPROBE_ACTION_SIGNED 1

struct djprobe_action {
	unsigned char operation;  /* enum djprobe_action_operation */
	unsigned char reg;	  /* the operand; 0 where there is none, as the next two */
	unsigned char width;	  /* 1, 2, 4 or 8 bytes of it */
	unsigned char flags;	  /* DJPROBE_ACTION_SIGNED, or 0 */
	unsigned int offset;	  /* bytes from the probe's counter on, a multiple of 8; IF_*: 0 */
	unsigned long long value; /* IF_*: what the operand is compared with; else 0 */
};

#endif
