/* SPDX-License-Identifier: GPL-2.0 */
/* Handlers that only count. djk_source_of_counters() makes them. */
#ifndef DJPROBE_KMOD_COUNTER_H
#define DJPROBE_KMOD_COUNTER_H

#include <linux/types.h>

struct djk_full_handler;

/* The handler's counter, or what its first action that counts has counted, summed over all CPUs.
 * In any context. */
unsigned long djk_sum_counter(const struct djk_full_handler *handler);

#endif
