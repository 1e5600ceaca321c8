/* SPDX-License-Identifier: GPL-2.0 */
/* What the hit path reads; owned by the policy, replaced under RCU. */
#ifndef DJPROBE_KMOD_CONTRACT_HIT_H
#define DJPROBE_KMOD_CONTRACT_HIT_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One handler on a site: a BPF program, a function in C, or a counter. The C side keeps more behind
 * this first member. Handlers form a list and not an array, because leaving a list needs no memory:
 * detaching cannot fail.
 */
struct djk_handler {
	struct djk_handler *next;
	unsigned int wants; /* enum djk_wants, or-ed; it never changes */
	bool plain;	    /* the C side's: a program that runs at the site, at each hit, and needs
			     * no context */
	long counter;	    /* a 64-bit counter per CPU, by its offset from %gs: a hit only
			     * increments it, or does what djk_handler_actions() says with it
			     * and those behind it. 0: the handler runs something. It never
			     * changes */
};

/* What a handler asks of the code that calls it. */
enum djk_wants {
	DJK_WANTS_REDIRECT = 1, /* it may change where the probed text continues */
	DJK_WANTS_AFTER = 2,	/* it is called behind the probed instruction, too */
};

/* A detour ors this to the site that it hands to the hit handler: the probed instruction has run.
 */
#define DJK_AFTER 1ul

/* An address where the policy may write an int3. */
struct djk_trap {
	unsigned long address;
	unsigned long resume;  /* where a hit continues; the policy changes it atomically */
	struct djk_site *site; /* whose handlers run first; NULL: none */
	struct djk_trap *next; /* the next trap of the bucket */
};

/* A site as a hit sees it. */
struct djk_site {
	struct djk_handler *handlers; /* those that count first, each kind in the order of its
				       * attachment; a handler that was disabled by itself comes
				       * back as the last one of its kind */
	struct djk_trap trap;	      /* the int3 at the IA; a hit elsewhere has its address, too */
};

/* All traps, by their address. A reader has interrupts off, so that a core sync waits for it. A
 * trap that was taken out keeps its link, because a reader may stand on it. */
#define DJK_TRAP_BUCKETS 8192
/* NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit where it is defined. */
extern struct djk_trap *djp_traps[DJK_TRAP_BUCKETS];

static inline struct djk_trap **djk_trap_bucket(unsigned long address)
{
	return &djp_traps[(address ^ address >> 13) % DJK_TRAP_BUCKETS];
}

/* The trap at an address, or NULL: the int3 is not ours. In any context, without a lock. It stands
 * in this header because every hit at an int3 runs it. */
static inline struct djk_trap *djk_find_trap(unsigned long address)
{
	/* Acquire: a reader sees a trap only when it is complete. */
	struct djk_trap *trap = __atomic_load_n(djk_trap_bucket(address), __ATOMIC_ACQUIRE);

	while (trap && trap->address != address)
		trap = __atomic_load_n(&trap->next, __ATOMIC_ACQUIRE);
	return trap;
}

#ifdef __cplusplus
}
#endif
#endif
