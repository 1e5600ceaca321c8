/* SPDX-License-Identifier: GPL-2.0 */
/* BPF maps that hits write to: of counters, and of tasks' times. */
#ifndef DJPROBE_KMOD_MAP_H
#define DJPROBE_KMOD_MAP_H

#include <linux/types.h>

struct bpf_map;

/* Take a reference to the map. NULL: the fd is that of no map. */
struct bpf_map *djk_map_of_fd(int fd);
/* Whether anybody may write numbers to its values. */
bool djk_is_plain_map(const struct bpf_map *map);

#endif
