/* SPDX-License-Identifier: GPL-2.0 */
/* What the module relies on in this kernel, each with its proof; assume.c has the table. */
#ifndef DJPROBE_KMOD_ASSUME_H
#define DJPROBE_KMOD_ASSUME_H

#include <linux/types.h>

/* When an assumption can be proved. */
enum djk_assume_when {
	DJK_BEFORE_ALL,	  /* nothing else may run without it */
	DJK_WITH_KPROBES, /* by leading the kernel's kprobes here, for djk_kprobe_view_stop() to
			     undo */
	DJK_WITH_POLICY,  /* by starting the policy, which is djp_stop() to undo */
	DJK_AFTER_START,  /* when all parts have looked up what they use */
};

/* Prove all of one time, in the order of the table. At the first that does not hold: an error, and
 * one line in the log that names it. */
int djk_assume(enum djk_assume_when when);

#endif
