/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel: its own kprobes, and how a site joins one. */
#ifndef DJPROBE_KMOD_CONTRACT_KPROBES_H
#define DJPROBE_KMOD_CONTRACT_KPROBES_H

#include "facts.h"
#include "hit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kprobe of the kernel's own at an address. */
enum djk_kprobe_state {
	DJK_KPROBE_NONE,
	DJK_KPROBE_BYTE, /* it owns one byte, where it writes an int3 when it is enabled */
	DJK_KPROBE_JUMP, /* it owns five bytes, where it has written its jump or soon will */
};
/* Does not sleep. The answer stays true as long as the caller holds djk_text_lock(). */
enum djk_kprobe_state djk_kprobe_at(unsigned long address);

/*
 * Where the kernel has a kprobe already, the site registers one more, whose handler runs those of
 * the site: the kernel allows many kprobes at one address, and hits ours whatever state the others
 * are in. NULL with the reason: NO_MEMORY or FOREIGN_PATCH. Not under djk_text_lock(), whose locks
 * it takes.
 */
struct djk_seat;
struct djk_seat *djk_join_kprobe(struct djk_site *site, unsigned long address,
				 unsigned int *reason);
/* No hit that begins from now on runs the site's handlers, but in text that goes with its module.
 * The seat is not the caller's any more; its kprobe is disabled, but looks like one of the kernel's
 * own until djk_give_up_seats(). Sleeps. Not under djk_text_lock(). */
void djk_leave_kprobe(struct djk_seat *seat);
/* Unregister the kprobes of all seats that were left. Before the quiescence after which their sites
 * may be freed. Sleeps for grace periods of RCU: not under the registry lock. */
void djk_give_up_seats(void);
/* The hits that the kernel has skipped there since the seat was taken. It skips them before it asks
 * any handler, so also those that a handler's filter would turn away. In any context. */
unsigned int djk_missed_in_kprobe(const struct djk_seat *seat);

/* The original bytes behind a kprobe at `address`, as many as its jump would hide. False: no kprobe
 * has changed the text there. Under djk_text_lock(). */
#define DJK_KPROBE_BYTES 5
bool djk_recover_foreign(unsigned long address, unsigned char bytes[DJK_KPROBE_BYTES]);

/* The addresses of all kprobes of the kernel. Returns how many there are, which may be more than
 * `max`. Does not sleep. */
size_t djk_list_kprobes(unsigned long *addresses, size_t max);
/* Whether there is one. Does not sleep. */
bool djk_has_kprobes(void);
/*
 * Where the kernel has begun to register kprobes since the last call. Returns how many there were,
 * which may be more than are told: list them all then. Under djk_text_lock(): each of these kprobes
 * is in the kernel's table, or was refused. Does not sleep.
 */
#define DJK_NEW_KPROBES 16
size_t djk_take_new_kprobes(unsigned long addresses[DJK_NEW_KPROBES]);

/* Calls visit() with DJK_FLOW_UNKNOWN for all kprobes of the kernel's own that there are now: their
 * handlers may read any register. visit() must not sleep. */
void djk_visit_kprobes(djk_flow_visit visit, void *context);

#ifdef __cplusplus
}
#endif
#endif
