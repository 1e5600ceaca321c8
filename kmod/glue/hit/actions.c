// SPDX-License-Identifier: GPL-2.0
#include "actions.h"

#include <linux/bitops.h>
#include <linux/bpf.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <asm/msr.h>

#include "../kernel.h"
#include "handler.h"
#include "map.h"

struct djk_action_list *djk_read_actions(const void __user *from, u32 count)
{
	struct djk_action_list *list;

	if (!count)
		return NULL;
	list = kmalloc(struct_size(list, actions, count), GFP_KERNEL_ACCOUNT);
	if (!list)
		return ERR_PTR(-ENOMEM);
	refcount_set(&list->users, 1);
	list->count = count;
	list->times_map = NULL;
	list->times.entries = 0;
	if (!copy_from_user(list->actions, from, array_size(count, sizeof(*list->actions))))
		return list;
	kfree(list);
	return ERR_PTR(-EFAULT);
}

static __always_inline bool compares(const struct djprobe_action *action)
{
	return action->operation >= DJPROBE_ACTION_IF_EQ &&
	       action->operation <= DJPROBE_ACTION_IF_GE;
}

bool djk_are_actions(const struct djk_action_list *list, bool conditions,
		     struct djp_attachment *attachment)
{
	size_t wrong = list ? djp_find_wrong_action(list->actions, list->count) : 0;
	size_t i;

	for (i = 0; conditions && i < wrong; i++)
		if (!compares(&list->actions[i]))
			wrong = i;
	if (!list || wrong == list->count)
		return true;
	attachment->reason = DJPROBE_REASON_NO_ACTION;
	attachment->detail[0] = wrong;
	attachment->detail[1] = list->actions[wrong].operation;
	return false;
}

struct djk_action_list *djk_actions_get(struct djk_action_list *list)
{
	if (list)
		refcount_inc(&list->users);
	return list;
}

void djk_actions_put(struct djk_action_list *list)
{
	if (!list || !refcount_dec_and_test(&list->users))
		return;
	if (list->times_map)
		bpf_map_put(list->times_map);
	kfree(list);
}

static bool is_timer(const struct djprobe_action *action)
{
	return action->operation == DJPROBE_ACTION_TIME ||
	       action->operation == DJPROBE_ACTION_ELAPSED;
}

bool djk_has_timer(const struct djk_action_list *list)
{
	u32 i;

	for (i = 0; list && i < list->count; i++)
		if (is_timer(&list->actions[i]))
			return true;
	return false;
}

/* Its values keep their addresses as long as it lives. */
static unsigned int refuse_times(const struct bpf_map *map)
{
	const u32 tasks = map->max_entries - DJPROBE_TIMES_HEAD;

	if (map->map_type != BPF_MAP_TYPE_ARRAY || !djk_is_plain_map(map))
		return DJPROBE_REASON_MAP_KIND;
	/* The head has an entry for each CPU, and one beside. */
	if (map->value_size != sizeof(u64) || map->max_entries <= DJPROBE_TIMES_HEAD ||
	    !is_power_of_2(tasks) || nr_cpu_ids >= DJPROBE_TIMES_HEAD)
		return DJPROBE_REASON_NO_COUNTER;
	return DJPROBE_REASON_NONE;
}

bool djk_take_times(struct djk_action_list *list, int map_fd, struct djp_attachment *attachment)
{
	struct bpf_map *const map = djk_map_of_fd(map_fd);

	attachment->reason = map ? refuse_times(map) : DJPROBE_REASON_NO_MAP;
	if (attachment->reason) {
		if (map)
			bpf_map_put(map);
		return false;
	}
	list->times_map = map;
	list->times.entries = (unsigned long)container_of(map, struct bpf_array, map)->value;
	list->times.mask = map->max_entries - DJPROBE_TIMES_HEAD - 1;
	return true;
}

struct djk_times djk_handler_times(const struct djk_handler *link)
{
	const struct djk_full_handler *const handler =
		container_of(link, struct djk_full_handler, link);

	return handler->actions ? handler->actions->times : (struct djk_times){};
}

size_t djk_handler_actions(const struct djk_handler *link, const struct djprobe_action **actions)
{
	const struct djk_full_handler *const handler =
		container_of(link, struct djk_full_handler, link);

	if (!handler->actions)
		return 0;
	*actions = handler->actions->actions;
	return handler->actions->count;
}

u32 djk_action_slots(const struct djprobe_action *action)
{
	switch (action->operation) {
	case DJPROBE_ACTION_COUNT:
	case DJPROBE_ACTION_ADD:
		return 1;
	case DJPROBE_ACTION_LOG2:
		return DJPROBE_LOG2_SLOTS;
	case DJPROBE_ACTION_MAX:
	case DJPROBE_ACTION_MIN:
	case DJPROBE_ACTION_ELAPSED:
		return 2;
	case DJPROBE_ACTION_TIME:
		return 3;
	default:
		return 0;
	}
}

const struct djprobe_action *djk_counting_action(const struct djk_action_list *list)
{
	u32 i;

	for (i = 0; list && i < list->count; i++)
		if (list->actions[i].operation == DJPROBE_ACTION_COUNT ||
		    list->actions[i].operation == DJPROBE_ACTION_LOG2)
			return &list->actions[i];
	return NULL;
}

#define AT(field) offsetof(struct pt_regs, field)
/* By their numbers in instructions. */
static const u8 register_offsets[DJPROBE_REGS] = {
	AT(ax), AT(cx), AT(dx),	 AT(bx),  AT(sp),  AT(bp),  AT(si),  AT(di),
	AT(r8), AT(r9), AT(r10), AT(r11), AT(r12), AT(r13), AT(r14), AT(r15),
};

#undef AT

/* By enum djprobe_task_field. */
static const u16 task_offsets[DJPROBE_TASK_FIELDS] = {
	offsetof(struct task_struct, tgid),
	offsetof(struct task_struct, pid),
	offsetof(struct task_struct, comm),
	offsetof(struct task_struct, comm) + 8,
};
static_assert(sizeof_field(struct task_struct, comm) == 16);

void djk_get_task_layout(struct djk_machine *machine)
{
	u32 i;

#ifdef DJK_HOT_CURRENT
	machine->current_task = (unsigned long)&pcpu_hot.current_task;
#else
	machine->current_task = (unsigned long)&current_task;
#endif
#ifdef DJK_HOT_CPU
	machine->cpu_number = (unsigned long)&pcpu_hot.cpu_number;
#else
	machine->cpu_number = (unsigned long)&cpu_number;
#endif
	for (i = 0; i < DJPROBE_TASK_FIELDS; i++)
		machine->task_fields[i] = task_offsets[i];
}

/* No field is at the task's end: 8 bytes from any on belong to it. */
static __always_inline u64 whole_operand(const struct djprobe_action *action,
					 const struct pt_regs *regs)
{
	if (action->flags & DJPROBE_ACTION_TASK)
		return *(const u64 *)((const u8 *)current + task_offsets[action->reg]);
	return *(const u64 *)((const u8 *)regs + register_offsets[action->reg]);
}

static __always_inline long displacement_of(const struct djprobe_action *action)
{
	return compares(action) ? (s32)action->offset : (s32)action->value;
}

/* No more than these bytes are known to be there. */
static __always_inline u64 stored(const void *at, unsigned int width)
{
	switch (width) {
	case 1:
		return *(const u8 *)at;
	case 2:
		return *(const u16 *)at;
	case 4:
		return *(const u32 *)at;
	default:
		return *(const u64 *)at;
	}
}

/* `took`: what ELAPSED has found. */
static __always_inline u64 operand(const struct djprobe_action *action, const struct pt_regs *regs,
				   u64 took)
{
	const unsigned int unused = 64 - 8 * action->width;
	u64 whole = action->flags & DJPROBE_ACTION_TOOK ? took : whole_operand(action, regs);

	/* The policy has proven that it cannot fault. */
	if (action->flags & DJPROBE_ACTION_MEMORY)
		whole = stored((const void *)(whole + displacement_of(action)), action->width);
	if (action->flags & DJPROBE_ACTION_SIGNED)
		return (s64)(whole << unused) >> unused;
	return whole << unused >> unused;
}

/* -1, 0 or 1. */
static __always_inline int compare(const struct djprobe_action *action, u64 operand)
{
	const bool less = action->flags & DJPROBE_ACTION_SIGNED ? (s64)operand < (s64)action->value
								: operand < action->value;

	return operand == action->value ? 0 : less ? -1 : 1;
}

static __always_inline bool goes_on(const struct djprobe_action *action, u64 operand)
{
	const int order = compare(action, operand);

	switch (action->operation) {
	case DJPROBE_ACTION_IF_EQ:
		return order == 0;
	case DJPROBE_ACTION_IF_NE:
		return order != 0;
	case DJPROBE_ACTION_IF_LT:
		return order < 0;
	case DJPROBE_ACTION_IF_LE:
		return order <= 0;
	case DJPROBE_ACTION_IF_GT:
		return order > 0;
	default:
		return order >= 0;
	}
}

/* What the greatest is kept of. */
static __always_inline u64 key(const struct djprobe_action *action, u64 operand)
{
	if (action->flags & DJPROBE_ACTION_SIGNED)
		operand ^= 1ull << 63;
	return action->operation == DJPROBE_ACTION_MIN ? ~operand : operand;
}

/* As the detour's code does it (arch/x86/detour/action_writer.cc says why that is exact). */
static __always_inline void keep_greater(u64 __percpu *greatest, u64 key)
{
	u64 seen = this_cpu_read(*greatest);
	int tries;

	for (tries = 0; tries < 2; tries++) {
		u64 before = seen;

		if (before >= key)
			return;
		seen = this_cpu_cmpxchg(*greatest, before, key);
		if (seen == before)
			return;
	}
	this_cpu_inc(greatest[1]);
}

/*
 * Where the time of the task that runs is kept. NULL: it has no place, and this is counted, or it
 * takes no part. As the detour's code finds it (arch/x86/detour/timer_writer.h says why that is
 * exact).
 */
static __always_inline u64 *time_slot(const struct djk_times *times, u64 __percpu *without_place)
{
	u64 *const entries = (u64 *)times->entries;
	const u32 task = current->pid, index = DJPROBE_TIMES_INDEX(task, times->mask);
	u64 *slot;

	if (task > (u32)READ_ONCE(entries[0])) {
		if (task > times->mask && (u32)READ_ONCE(entries[0]))
			this_cpu_inc(*without_place);
		return NULL;
	}
	slot = entries + DJPROBE_TIMES_HEAD + index;
	if (!index && READ_ONCE(*slot) == ~0ull && (u32)READ_ONCE(entries[0]))
		slot = entries +
		       DJPROBE_TIMES_INDEX(1 + (u32)raw_smp_processor_id(), DJPROBE_TIMES_HEAD - 1);
	return READ_ONCE(*slot) == ~0ull ? NULL : slot;
}

/* False: the list ends. */
static __always_inline bool store_time(const struct djk_times *times, u64 __percpu *counters)
{
	u64 *const slot = time_slot(times, counters + 2);

	if (!slot)
		return false;
	if (xchg(slot, rdtsc_ordered()))
		this_cpu_inc(counters[1]);
	else
		this_cpu_inc(counters[0]);
	return true;
}

/* False: the list ends. */
static __always_inline bool take_time(const struct djk_times *times, u64 __percpu *counters,
				      u64 multiplier, u64 *took)
{
	u64 *const slot = time_slot(times, counters + 1);
	u64 began, now;

	if (!slot)
		return false;
	began = xchg(slot, 0);
	if (!began) {
		this_cpu_inc(counters[0]);
		return false;
	}
	now = rdtsc_ordered();
	*took = now < began ? 0 : mul_u64_u64_shr(now - began, multiplier, 32);
	return true;
}

/* Not traced, like its callers on the way of a miss. */
notrace bool djk_act(const struct djk_action_list *list, u64 __percpu *counter,
		     const struct pt_regs *regs)
{
	u64 took = 0;
	u32 i;

	for (i = 0; i < list->count; i++) {
		const struct djprobe_action *const action = &list->actions[i];
		u64 __percpu *const place = counter + action->offset / sizeof(u64);

		switch (action->operation) {
		case DJPROBE_ACTION_COUNT:
			this_cpu_inc(*place);
			break;
		case DJPROBE_ACTION_ADD:
			this_cpu_add(*place, operand(action, regs, took));
			break;
		case DJPROBE_ACTION_LOG2:
			this_cpu_inc(place[fls64(operand(action, regs, took))]);
			break;
		case DJPROBE_ACTION_MAX:
		case DJPROBE_ACTION_MIN:
			keep_greater(place, key(action, operand(action, regs, took)));
			break;
		case DJPROBE_ACTION_TIME:
			if (!store_time(&list->times, place))
				return false;
			break;
		case DJPROBE_ACTION_ELAPSED:
			if (!take_time(&list->times, place, action->value, &took))
				return false;
			break;
		default:
			if (!goes_on(action, operand(action, regs, took)))
				return false;
		}
	}
	return true;
}
NOKPROBE_SYMBOL(djk_act);
