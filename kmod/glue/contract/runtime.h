/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel: locks, memory, the worker, the module's references. */
#ifndef DJPROBE_KMOD_CONTRACT_RUNTIME_H
#define DJPROBE_KMOD_CONTRACT_RUNTIME_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The policy's one lock: it guards all that the policy owns. */
void djk_registry_lock(void);
void djk_registry_unlock(void);
/* Zero-filled memory; NULL when out of memory. The large kind need not be contiguous. Freeing NULL
 * does nothing. */
void *djk_alloc(size_t size);
void djk_free(void *memory);
void *djk_alloc_large(size_t size);
void djk_free_large(void *memory);
/* Memory for things of which there may be hundreds of thousands: none is lost between those of a
 * kind. djk_take() is like djk_alloc(). djk_attempt() gives up before the kernel kills a task for
 * it. djk_insist() waits until there is memory, for what must be there, and not under
 * djk_text_lock(). */
enum djk_kind { DJK_PROBES, DJK_SITES, DJK_LASTING_SITES };
#define DJK_PROBE_SIZE 144
#define DJK_SITE_SIZE 472
#define DJK_LASTING_SITE_SIZE 488 /* another size: the kernel would give both one cache */
/* Whether so many at once leave others enough memory. */
bool djk_may_take(enum djk_kind kind, size_t count);
void *djk_take(enum djk_kind kind);
void *djk_attempt(enum djk_kind kind);
void *djk_insist(enum djk_kind kind);
void djk_give_back(enum djk_kind kind, void *memory);
void djk_breathe(void); /* lets the scheduler in, in long loops */
/* How much a request does before it lets others have the registry lock: `size` things that cost
 * about the same. The size follows from how long the last portion took. */
struct djk_portion {
	unsigned int size;
	unsigned long long begun; /* nanoseconds; the C side's */
};
void djk_portion_begin(struct djk_portion *portion);
/* Give the registry lock back and take it again, so that tasks that wait for it come first. Under
 * the registry lock. */
void djk_registry_pause(struct djk_portion *portion);
bool djk_is_dying(void); /* the calling task has been killed: give up what can be undone */
/* Let the worker call djp_optimizer_run() as soon as the registry lock is free. Under the registry
 * lock. */
void djk_optimizer_kick(void);
void djk_optimizer_kick_later(void); /* the same after a second, with or without the lock */
/* Let the worker call djp_end_once() soon. */
void djk_watch_once(void);
/* Let the worker call djp_keep_for_kprobes() soon. Under djk_text_lock(). */
void djk_watch_kprobes(void);
void djk_optimizer_done(void); /* wakes the tasks that wait for djp_is_settled() */
/* Count one more, or one less, reason why this module must not unload. The caller of the first has
 * a reference already. */
void djk_keep_module(void);
void djk_release_module(void);
void djk_warn(const char *what, unsigned long address); /* a line in the log: "SYMBOL+0x1: what" */

#ifdef __cplusplus
}
#endif
#endif
