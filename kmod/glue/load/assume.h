/* SPDX-License-Identifier: GPL-2.0 */
/* What the module relies on in this kernel, and the proof of each. assume.c has the table. */
#ifndef DJPROBE_KMOD_ASSUME_H
#define DJPROBE_KMOD_ASSUME_H

#include <linux/types.h>

/* When an assumption can be proved. */
enum djk_assume_when {
	DJK_BEFORE_ALL,	  /* nothing else may run without it */
	DJK_WITH_KPROBES, /* the proof leads the kernel's kprobes here; djk_kprobe_view_stop()
			     undoes that */
	DJK_WITH_POLICY,  /* the proof starts the policy; djp_stop() undoes that */
	DJK_AFTER_START,  /* when all parts have looked up what they use */
};

/* Prove all assumptions of one time, in the order of the table. Sleeps. 0, or the errno of the
 * first that does not hold, which one line in the log names. */
int djk_assume(enum djk_assume_when when);

#endif
