/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which probes of other modules are registered, by the address of the caller's struct. The module
 * does not trust what a caller says about its own struct: a probe that was never registered, no
 * longer is or is about to be is not one of them.
 */
#ifndef DJPROBE_KMOD_REGISTERED_H
#define DJPROBE_KMOD_REGISTERED_H

#include <linux/types.h>

struct djp_probe;

/* All but the last one sleep.
 *
 * Reserve a place for a probe. -EINVAL with a line in the log: it has one already. -ENOMEM. */
int djk_registered_reserve(const void *probe);
/* Fill the reserved place with the attached probe. NULL: attaching has failed, free the place. */
void djk_registered_settle(const void *probe, struct djp_probe *attached);

/* Take the probe out: it is no longer registered. NULL with a line in the log: it was not. */
struct djp_probe *djk_registered_take(const void *probe);

/* The registered probe, which stays registered until the unlock. NULL with a line in the log, and
 * without a lock: it is not registered. */
struct djp_probe *djk_registered_lock(const void *probe);
void djk_registered_unlock(void);

/* The registered probe, or NULL. Under RCU, in any context: others may take it meanwhile. */
struct djp_probe *djk_registered_find(const void *probe);

#endif
