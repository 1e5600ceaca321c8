/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Returns seen by replaced return addresses, on the kernel's rethook: its
 * unwinder knows them, and it takes back what a dying task leaves.
 *
 * What the kernel keeps of us while a call is under way are its own structs
 * only; a return that comes after djk_shadow_destroy() runs nothing of the module.
 */
#ifndef DJPROBE_KMOD_SHADOW_H
#define DJPROBE_KMOD_SHADOW_H

#include <linux/types.h>

struct djk_full_handler;
struct djk_handler;
struct djk_shadow;
struct pt_regs;

#ifdef CONFIG_RETHOOK
/* Look for rethook: without it there is no shadow mode. Or a negative errno. */
int djk_shadow_init(void);
/* No probe is left. */
void djk_shadow_exit(void);
bool djk_shadow_is_there(void);

/*
 * Instances for the calls that a handler is to see, with `data_size` bytes each
 * for what it keeps of a call. `most`: so many and never more; 0: as many as it
 * takes. It is one of `together` that are made for one request, and begins with the
 * fewer the more they are. NULL: out of memory.
 */
struct djk_shadow *djk_shadow_create(struct djk_full_handler *handler, size_t data_size,
				     unsigned int most, size_t together);
/* Calls are seen from here on, or not any more, nor are the returns of those under way.
 * Between stop and destroy: a quiescence. */
void djk_shadow_start(struct djk_shadow *shadow);
void djk_shadow_stop(struct djk_shadow *shadow);
void djk_shadow_destroy(struct djk_shadow *shadow);

/*
 * At the entry of a function, where regs->sp is at the return address. Never
 * sleeps, allocates or takes a lock; preemption is off. `nmi` is what in_nmi()
 * says of the trap that led here.
 */
void djk_shadow_enter(struct djk_full_handler *handler, struct pt_regs *regs, unsigned int nmi);

/* The same for a detour that calls it itself; not within another handler of ours. */
void djk_shadow_entry(struct pt_regs *regs, struct djk_handler *probe);
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
static inline void djk_shadow_entry(struct pt_regs *regs, struct djk_handler *probe)
{
}
#endif

#endif
