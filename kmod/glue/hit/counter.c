// SPDX-License-Identifier: GPL-2.0
/* Making handlers that only count, in a counter of a BPF map. */
#include "counter.h"

#include <linux/bpf.h>
#include <linux/percpu.h>

#include "../../../uapi/djprobe.h"
#include "../kernel/imports.h"
#include "../kernel/memory.h"
#include "actions.h"
#include "handler.h"
#include "make_handler.h"
#include "map.h"

/* The counter that a cookie names; see DJPROBE_COUNTER(). */
struct place {
	u32 key, offset;
};

static u64 __percpu *counter_at(const struct bpf_map *map, struct place place)
{
	struct bpf_array *const array = container_of(map, struct bpf_array, map);

	return array->pptrs[place.key & array->index_mask] + place.offset;
}

static unsigned int refuse_map(const struct bpf_map *map)
{
	if (map->map_type == BPF_MAP_TYPE_PERCPU_ARRAY && djk_is_plain_map(map))
		return DJPROBE_REASON_NONE;
	return DJPROBE_REASON_MAP_KIND;
}

/* `size` bytes of counters, `distance` bytes behind the place. */
static unsigned int refuse_counters(const struct bpf_map *map, struct place place, u64 distance,
				    u64 size)
{
	/* Over a boundary of pages or cache lines an increment would take longer. */
	if ((place.offset + distance) % sizeof(u64))
		return DJPROBE_REASON_ODD_COUNTER;
	/* A value's size may be odd: what the kernel has behind it is no counter. */
	if (place.key >= map->max_entries || place.offset + distance + size > map->value_size)
		return DJPROBE_REASON_NO_COUNTER;
	return DJPROBE_REASON_NONE;
}

static unsigned int refuse_place(const struct bpf_map *map, struct place place,
				 const struct djk_action_list *list, unsigned long detail[2])
{
	unsigned int reason = refuse_counters(map, place, 0, sizeof(u64));
	u32 i;

	for (i = 0; list && i < list->count && !reason; i++) {
		const struct djprobe_action *const action = &list->actions[i];

		if (!djk_action_slots(action))
			continue;
		reason = refuse_counters(map, place, action->offset,
					 djk_action_slots(action) * sizeof(u64));
		if (reason) {
			detail[0] = i;
			detail[1] = action->operation;
		}
	}
	return reason;
}

/* Take a reference to the map. NULL with the reason. */
static struct bpf_map *take_map(int fd, unsigned int *reason)
{
	struct bpf_map *const map = djk_map_of_fd(fd);

	if (!map) {
		*reason = DJPROBE_REASON_NO_MAP;
		return NULL;
	}
	*reason = refuse_map(map);
	if (!*reason)
		return map;
	bpf_map_put(map);
	return NULL;
}

static struct djk_handler *make_counter(const struct djk_source *base, struct djp_request *request)
{
	const struct djk_counter_source *const source =
		container_of(base, struct djk_counter_source, source);
	const struct place place = { request->cookie >> 32, (u32)request->cookie };
	struct bpf_map *const map = take_map(source->map_fd, &request->reason);
	struct djk_full_handler *handler;

	if (!map)
		return NULL;
	request->reason = refuse_place(map, place, source->actions, request->detail);
	handler = request->reason ? NULL : djk_alloc_counter();
	if (!handler) {
		if (!request->reason)
			request->reason = DJPROBE_REASON_NO_MEMORY;
		bpf_map_put(map);
		return NULL;
	}
	handler->map = map;
	handler->actions = djk_actions_get(source->actions);
	handler->link.counter = (long)counter_at(map, place);
	return &handler->link;
}

struct djk_counter_source djk_source_of_counters(int map_fd, struct djk_action_list *actions)
{
	return (struct djk_counter_source){ { make_counter }, map_fd, actions };
}

static unsigned long sum(const u64 __percpu *counter)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) sum += READ_ONCE(*per_cpu_ptr(counter, cpu));
	return sum;
}

unsigned long djk_sum_counter(const struct djk_full_handler *handler)
{
	const u64 __percpu *counter = (const u64 __percpu *)handler->link.counter;
	const struct djprobe_action *const action = djk_counting_action(handler->actions);
	unsigned long hits = 0;
	u32 i;

	if (!handler->actions)
		return sum(counter);
	for (i = 0; action && i < djk_action_slots(action); i++)
		hits += sum(counter + action->offset / sizeof(u64) + i);
	return hits;
}
