/* SPDX-License-Identifier: GPL-2.0 */
/* Lists of actions, as uapi/djprobe_action.h defines them: handlers share one. */
#ifndef DJPROBE_KMOD_ACTIONS_H
#define DJPROBE_KMOD_ACTIONS_H

#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "../../../uapi/djprobe_action.h"
#include "../kernel.h"

struct bpf_map;
struct djk_machine;
struct djp_attachment;
struct pt_regs;

struct djk_action_list {
	refcount_t users;
	u32 count;
	struct bpf_map *times_map; /* of a list with a timer, else NULL */
	struct djk_times times;
	struct djprobe_action actions[];
};

/* Copy a list of the caller's. NULL for none; an error pointer: -EFAULT, -ENOMEM. */
struct djk_action_list *djk_read_actions(const void __user *from, u32 count);
/* Whether they are actions, or `conditions` only; false with the attachment's reason and detail.
 * NULL is fine. */
bool djk_are_actions(const struct djk_action_list *list, bool conditions,
		     struct djp_attachment *attachment);
/* Whether there is a timer among them, which needs djk_take_times(). NULL is fine. */
bool djk_has_timer(const struct djk_action_list *list);
/* Give the list, which no handler has yet, its map of times. False with the attachment's reason. */
bool djk_take_times(struct djk_action_list *list, int map_fd, struct djp_attachment *attachment);
/* Each may be NULL. */
struct djk_action_list *djk_actions_get(struct djk_action_list *list);
void djk_actions_put(struct djk_action_list *list);

/* Where the detours find the task that runs, its fields, and the CPU's number. */
void djk_get_task_layout(struct djk_machine *machine);

/* How many counters an action has, of which a hit may change any. */
u32 djk_action_slots(const struct djprobe_action *action);
/* The first action that counts hits, or NULL. */
const struct djprobe_action *djk_counting_action(const struct djk_action_list *list);

/*
 * Do what the code of a detour does for the list: at int3, and where handlers share a site. In any
 * context, with preemption or without, and without the guard: it calls nothing that could be hit,
 * and each counter changes by one instruction on the memory of the CPU that runs it. False: the
 * list has ended at a condition. Without other actions there need be no counter.
 */
bool djk_act(const struct djk_action_list *list, u64 __percpu *counter, const struct pt_regs *regs);

#endif
