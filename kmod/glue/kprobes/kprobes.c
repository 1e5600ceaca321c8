// SPDX-License-Identifier: GPL-2.0
/* The kernel's own kprobes: where they are, and what they hide. */
#include <linux/kprobes.h>

#include "../kernel/imports.h"
#include "../kernel.h"
#include "kprobe_view.h"

/* As kernel/kprobes.c has had since 2.6.10. */
#define KPROBE_BUCKETS (1 << 6)

enum djk_kprobe_state djk_kprobe_at(unsigned long address)
{
	enum djk_kprobe_state state = DJK_KPROBE_NONE;
	const struct kprobe *kprobe;

	preempt_disable();
	kprobe = (const struct kprobe *)djk_call1(get_kprobe, address);
	if (kprobe)
		/* The kernel sets the flag before it queues the jump, and clears it after the jump
		 * has gone. */
		state = READ_ONCE(kprobe->flags) & KPROBE_FLAG_OPTIMIZED ? DJK_KPROBE_JUMP
									 : DJK_KPROBE_BYTE;
	preempt_enable();
	return state;
}

bool djk_recover_foreign(unsigned long address, unsigned char bytes[DJK_KPROBE_BYTES])
{
	/* The kernel fills up to this many bytes. */
	unsigned char insn[MAX_INSN_SIZE] = {};
	unsigned long recovered = 0;

	BUILD_BUG_ON(sizeof(insn) < DJK_KPROBE_BYTES);
	preempt_disable();
	if (djk_call1(get_kprobe, address))
		recovered = djk_recover(insn, address);
	preempt_enable();
	memcpy(bytes, insn, DJK_KPROBE_BYTES);
	/* For a kprobe that has patched nothing (disabled, or on the ftrace call) the answer is the
	 * text itself. */
	return recovered && recovered != address;
}

size_t djk_list_kprobes(unsigned long *addresses, size_t max)
{
	const struct hlist_head *table = (const struct hlist_head *)djk_imports.kprobe_table;
	const struct kprobe *probe;
	size_t count = 0, i;

	preempt_disable();
	for (i = 0; i < KPROBE_BUCKETS; i++) {
		hlist_for_each_entry_rcu(probe, &table[i], hlist)
		{
			if (count < max)
				addresses[count] = (unsigned long)probe->addr;
			count++;
		}
	}
	preempt_enable();
	return count;
}

bool djk_has_kprobes(void)
{
	const struct hlist_head *table = (const struct hlist_head *)djk_imports.kprobe_table;
	size_t i;

	/* Mostly there are none, and each site asks several times. */
	BUILD_BUG_ON(KPROBE_BUCKETS % 4);
	for (i = 0; i < KPROBE_BUCKETS; i += 4)
		if ((unsigned long)READ_ONCE(table[i].first) |
		    (unsigned long)READ_ONCE(table[i + 1].first) |
		    (unsigned long)READ_ONCE(table[i + 2].first) |
		    (unsigned long)READ_ONCE(table[i + 3].first))
			return true;
	return false;
}

void djk_visit_kprobes(djk_flow_visit visit, void *context)
{
	const struct hlist_head *table = (const struct hlist_head *)djk_imports.kprobe_table;
	const struct kprobe *probe;
	size_t i;

	preempt_disable();
	for (i = 0; i < KPROBE_BUCKETS; i++)
		hlist_for_each_entry_rcu(probe, &table[i], hlist)
			visit(context, DJK_FLOW_UNKNOWN, (unsigned long)probe->addr, 0);
	preempt_enable();
}
