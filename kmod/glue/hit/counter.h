/* SPDX-License-Identifier: GPL-2.0 */
/* Handlers that only count. djk_source_of_counters() makes them. */
#ifndef DJPROBE_KMOD_COUNTER_H
#define DJPROBE_KMOD_COUNTER_H

#include <linux/types.h>

struct bpf_map;
struct djk_full_handler;

/* Take a reference to the map. NULL: the fd is that of no map. */
struct bpf_map *djk_map_of_fd(int fd);
/* Whether anybody may write numbers to its values. */
bool djk_is_plain_map(const struct bpf_map *map);

/* The handler's counter, or what its first action that counts has counted, summed over all CPUs.
 * In any context. */
unsigned long djk_sum_counter(const struct djk_full_handler *handler);

#endif
