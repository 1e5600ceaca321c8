// SPDX-License-Identifier: GPL-2.0
/* The kernel has a kprobe at a site's address already: one more kprobe there runs the site. */
#include <linux/kprobes.h>
#include <linux/slab.h>

#include "../../../uapi/djprobe.h"
#include "../hit/hit.h"
#include "../kernel.h"

struct djk_seat {
	struct kprobe kprobe;
	struct djk_site *site;
};

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
	/* This waits until no CPU is in its handler. To only disable it here, and to unregister it
	 * later without the registry lock, would make it look like a kprobe of the kernel's own to
	 * the next attach at this address. */
	unregister_kprobe(&seat->kprobe);
	kfree(seat);
}

void djk_count_missed_in_kprobe(const struct djk_seat *seat, unsigned long missed[8])
{
	missed[DJPROBE_MISS_RECURSION] += READ_ONCE(seat->kprobe.nmissed);
}
