// SPDX-License-Identifier: GPL-2.0
/* The kernel has a kprobe at a site's address already: one more kprobe there runs the site. */
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "../../../uapi/djprobe.h"
#include "../hit/hit.h"
#include "../kernel.h"

struct djk_seat {
	struct kprobe kprobe;
	struct djk_site *site;
	struct djk_seat *next; /* in `left` */
};

/* Seats that their sites have left: the kprobe is disabled, but registered. To unregister it takes
 * a grace period, for which the registry lock is not held. */
static struct djk_seat *left;
static DEFINE_SPINLOCK(left_lock);

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
	/* This fails only for a kprobe that is gone with its module. */
	(void)disable_kprobe(&seat->kprobe);
	spin_lock(&left_lock);
	seat->next = left;
	left = seat;
	spin_unlock(&left_lock);
}

/* Unregister some of the seats, in one grace period. Returns the others. */
static struct djk_seat *give_up_some(struct djk_seat *seats)
{
	struct kprobe *some[16];
	int count = 0, i;

	for (; seats && count < ARRAY_SIZE(some); seats = seats->next)
		some[count++] = &seats->kprobe;
	/* This waits until no CPU is in their handlers. */
	unregister_kprobes(some, count);
	for (i = 0; i < count; ++i)
		kfree(container_of(some[i], struct djk_seat, kprobe));
	return seats;
}

void djk_give_up_seats(void)
{
	/* One caller's quiescence must not pass while another one still unregisters what was left
	 * before. */
	static DEFINE_MUTEX(giving_up);
	struct djk_seat *seats;

	mutex_lock(&giving_up);
	spin_lock(&left_lock);
	seats = left;
	left = NULL;
	spin_unlock(&left_lock);
	while (seats)
		seats = give_up_some(seats);
	mutex_unlock(&giving_up);
}

unsigned int djk_missed_in_kprobe(const struct djk_seat *seat)
{
	return READ_ONCE(seat->kprobe.nmissed);
}
