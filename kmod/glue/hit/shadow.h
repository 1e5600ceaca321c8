/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shadow mode: returns are seen by replaced return addresses, on the kernel's rethook. The kernel's
 * unwinder knows these, and the kernel takes back what a dying task leaves.
 *
 * While a call is under way the kernel keeps only its own structs: a return that comes after
 * djk_shadow_destroy() runs nothing of the module.
 */
#ifndef DJPROBE_KMOD_SHADOW_H
#define DJPROBE_KMOD_SHADOW_H

#include <linux/types.h>

struct djk_full_handler;
struct djk_handler;
struct djk_shadow;
struct pt_regs;

#ifdef CONFIG_RETHOOK
/* Look for rethook: without it there is no shadow mode. 0 or a negative errno. Sleeps. */
int djk_shadow_init(void);
/* Sleeps until no CPU runs code of this file. No probe is left. */
void djk_shadow_exit(void);
/* Whether this kernel has what shadow mode needs. */
bool djk_shadow_is_there(void);

/*
 * Make instances for the calls that a handler sees, with `data_size` bytes in each for what it
 * keeps of a call. `most`: exactly so many; 0: begin with some, and add more on demand. `together`
 * such sets are made for one request: the more they are, the smaller each begins. Sleeps. NULL: out
 * of memory.
 */
struct djk_shadow *djk_shadow_create(struct djk_full_handler *handler, size_t data_size,
				     unsigned int most, size_t together);
/* Begin to see calls. Stop to see them, and the returns of calls that are under way. Destroy what
 * was stopped before the last quiescence began. All sleep. */
void djk_shadow_start(struct djk_shadow *shadow);
void djk_shadow_stop(struct djk_shadow *shadow);
void djk_shadow_destroy(struct djk_shadow *shadow);

/*
 * Replace the return address at the entry of a function, where regs->sp points to it. In any
 * context (an NMI counts a miss), with preemption off: it never sleeps, allocates or takes a lock.
 * `nmi` is what our own trap, if it led here, has added to the count that in_nmi() reads.
 */
void djk_shadow_enter(struct djk_full_handler *handler, struct pt_regs *regs, unsigned int nmi);

/* The same for a detour that calls it itself; no other handler of ours runs on this CPU. */
void djk_shadow_entry(struct pt_regs *regs, struct djk_handler *handler);
#else
static inline int djk_shadow_init(void)
{
	return 0;
}
static inline void djk_shadow_exit(void)
{
}
static inline bool djk_shadow_is_there(void)
{
	return false;
}
static inline struct djk_shadow *djk_shadow_create(struct djk_full_handler *handler,
						   size_t data_size, unsigned int most,
						   size_t together)
{
	return NULL;
}
static inline void djk_shadow_start(struct djk_shadow *shadow)
{
}
static inline void djk_shadow_stop(struct djk_shadow *shadow)
{
}
static inline void djk_shadow_destroy(struct djk_shadow *shadow)
{
}
static inline void djk_shadow_enter(struct djk_full_handler *handler, struct pt_regs *regs,
				    unsigned int nmi)
{
}
static inline void djk_shadow_entry(struct pt_regs *regs, struct djk_handler *handler)
{
}
#endif

#endif
