/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which probes of other modules are registered, by the address of the caller's struct. What the
 * caller says about its own struct is not trusted: a probe that never was, is no more or is being
 * registered is not one of them.
 */
#ifndef DJPROBE_KMOD_REGISTERED_H
#define DJPROBE_KMOD_REGISTERED_H

#include <linux/types.h>

struct djp_probe;

/* Reserve a place for it. -EINVAL with a line in the log: it has one. -ENOMEM. */
int djk_registered_reserve(const void *probe);
/* It has been attached; NULL: it was not, the place is given back. */
void djk_registered_settle(const void *probe, struct djp_probe *attached);

/* From then on it is not registered. NULL with a line in the log: it was not. */
struct djp_probe *djk_registered_take(const void *probe);

/* The same without taking it; it stays registered until the unlock. NULL needs none. */
struct djp_probe *djk_registered_lock(const void *probe);
void djk_registered_unlock(void);

/* Under RCU, in any context: it may be taken meanwhile. NULL without a line. */
struct djp_probe *djk_registered_find(const void *probe);

#endif
