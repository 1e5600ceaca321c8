/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hostile functions, in the order of their numbers: what a user writes to
 * /sys/kernel/debug/hostile/run, and what vm/guest/probes/sites/hostile_test.cc expects.
 */
#ifndef DJPROBE_HOSTILE_FUNCTIONS_H
#define DJPROBE_HOSTILE_FUNCTIONS_H

/* clang-format off */
#define HOSTILE_FUNCTIONS(X)  \
	X(into_1)             \
	X(into_2)             \
	X(into_3)             \
	X(into_4)             \
	X(into_5)             \
	X(back_into_1)        \
	X(back_into_2)        \
	X(back_into_3)        \
	X(back_into_4)        \
	X(back_into_5)        \
	X(back_bare)          \
	X(from_cold)          \
	X(from_neighbour)     \
	X(neighbour)          \
	X(fixup_into)         \
	X(jump_table)         \
	X(computed_jump)      \
	X(tail_jump)          \
	X(call_middle)        \
	X(call_last)          \
	X(call_indirect)      \
	X(call_inside)        \
	X(call_on_stack)      \
	X(prefix_66)          \
	X(prefix_f2_f3)       \
	X(prefix_lock)        \
	X(lock_skipped)       \
	X(prefix_segment)     \
	X(prefix_67)          \
	X(prefix_rex)         \
	X(prefix_vex)         \
	X(rip_relative)       \
	X(counter_loop)       \
	X(jrcxz_over)         \
	X(one_byte)           \
	X(empty_label)        \
	X(two_bytes)          \
	X(ends_in_nops)       \
	X(ends_in_zeros)      \
	X(int3_inside)        \
	X(traps)              \
	X(stack_user)         \
	X(flags_user)
/* clang-format on */

#endif
