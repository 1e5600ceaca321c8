// SPDX-License-Identifier: GPL-2.0
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/types.h>

u64 hostile_deeper(u64 depth);
u64 hostile_dive(u64 depth);
u64 hostile_dive_off(u64 depth);
u64 hostile_land(u64 value);
u64 hostile_hop(u64 value);
u64 hostile_hop_far(u64 value);
u64 hostile_again(u64 value);

/* One return address of stack for each level: a thousand fit. */
__attribute__((noipa)) u64 hostile_deeper(u64 depth)
{
	if (!depth)
		return 0;
	depth = hostile_deeper(depth - 1);
	/* No loop instead, and no tail call. */
	asm volatile("" : "+r"(depth));
	return depth + 1;
}

__attribute__((noipa)) u64 hostile_dive(u64 depth)
{
	depth = hostile_deeper(depth);
	asm volatile("" : "+r"(depth));
	return depth;
}

/* Nothing on this CPU can help meanwhile. */
__attribute__((noipa)) u64 hostile_dive_off(u64 depth)
{
	unsigned long flags;

	local_irq_save(flags);
	depth = hostile_deeper(depth);
	local_irq_restore(flags);
	return depth;
}

__attribute__((noipa)) u64 hostile_land(u64 value)
{
	asm volatile("" : "+r"(value));
	return value + 3;
}

/* Odd numbers return, even ones leave by a tail call. */
__attribute__((noipa)) u64 hostile_hop(u64 value)
{
	if (value & 1)
		return value + 1;
	return hostile_land(value * 2);
}

/* Two tail calls on end. */
__attribute__((noipa)) u64 hostile_hop_far(u64 value)
{
	asm volatile("" : "+r"(value));
	return hostile_hop(value * 2);
}

/* A loop from its very beginning on. */
__attribute__((noipa)) u64 hostile_again(u64 value)
{
	asm volatile("1: dec %0\n\ttest $7, %0\n\tjnz 1b" : "+D"(value));
	return value;
}
