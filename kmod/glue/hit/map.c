// SPDX-License-Identifier: GPL-2.0
#include "map.h"

#include <linux/bpf.h>
#include <linux/err.h>

#include "../kernel/imports.h"

struct bpf_map *djk_map_of_fd(int fd)
{
	struct bpf_map *const map = (void *)djk_call1(bpf_map_get, fd);

	return IS_ERR(map) ? NULL : map;
}

/* Whether its values hold what only the kernel may change, by rules that the verifier knows:
 * pointers, timers, locks. */
static bool holds_special_fields(const struct bpf_map *map)
{
#ifdef DJK_MAP_RECORD
	return !IS_ERR_OR_NULL(map->record);
#else
	return !IS_ERR_OR_NULL(map->kptr_off_tab) || map->spin_lock_off >= 0 || map->timer_off >= 0;
#endif
}

bool djk_is_plain_map(const struct bpf_map *map)
{
	/* The verifier may rely on it that nothing writes to such a map. */
	const bool constant = map->map_flags & BPF_F_RDONLY_PROG;

	return !constant && !holds_special_fields(map);
}
