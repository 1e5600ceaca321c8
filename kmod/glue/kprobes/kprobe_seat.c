// SPDX-License-Identifier: GPL-2.0
/* The kernel has a kprobe at a site's address already: one more kprobe there runs the site. */
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "../../../uapi/djprobe.h"
#include "../hit/hit.h"
#include "../kernel.h"

struct djk_seat {
	struct kprobe kprobe;
	struct djk_site *site;
	struct djk_seat *next; /* in `left` */
};

/* Seats whose kprobe is disabled, but registered: to unregister one takes a grace period. */
static struct djk_seat *left;
static DEFINE_MUTEX(left_mutex);

static int notrace on_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	struct djk_seat *const seat = container_of(kprobe, struct djk_seat, kprobe);
	const unsigned long ip = regs->ip;

	regs->ip = (unsigned long)kprobe->addr;
	if (djk_hit(regs, seat->site))
		return 1;
	/* The kernel continues from the ip that its int3 has left. */
	regs->ip = ip;
	return 0;
}
NOKPROBE_SYMBOL(on_hit);

struct djk_seat *djk_join_kprobe(struct djk_site *site, unsigned long address, unsigned int *reason)
{
	struct djk_seat *seat = kzalloc(sizeof(*seat), GFP_KERNEL);
	int error;

	*reason = DJPROBE_REASON_NO_MEMORY;
	if (!seat)
		return NULL;
	seat->site = site;
	seat->kprobe.addr = (kprobe_opcode_t *)address;
	seat->kprobe.pre_handler = on_hit;
	error = register_kprobe(&seat->kprobe);
	if (!error)
		return seat;
	if (error != -ENOMEM)
		*reason = DJPROBE_REASON_FOREIGN_PATCH;
	kfree(seat);
	return NULL;
}

void djk_leave_kprobe(struct djk_seat *seat)
{
	/* Fails only for a kprobe that is gone with its module. */
	(void)disable_kprobe(&seat->kprobe);
	mutex_lock(&left_mutex);
	seat->next = left;
	left = seat;
	mutex_unlock(&left_mutex);
}

void djk_give_up_seats(void)
{
	struct djk_seat *seats, *seat;

	mutex_lock(&left_mutex);
	seats = left;
	left = NULL;
	mutex_unlock(&left_mutex);
	while ((seat = seats)) {
		seats = seat->next;
		/* Waits until no CPU is in its handler. */
		unregister_kprobe(&seat->kprobe);
		kfree(seat);
	}
}

void djk_count_missed_in_kprobe(const struct djk_seat *seat, unsigned long missed[8])
{
	missed[DJPROBE_MISS_RECURSION] += READ_ONCE(seat->kprobe.nmissed);
}
