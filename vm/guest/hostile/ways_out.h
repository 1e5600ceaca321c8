/* SPDX-License-Identifier: GPL-2.0 */
/* Compiled functions, by the ways that lead out of them. Their numbers go on from the others'. */
#ifndef DJPROBE_HOSTILE_WAYS_OUT_H
#define DJPROBE_HOSTILE_WAYS_OUT_H

/* clang-format off */
#define WAYS_OUT(X) \
	X(dive)     \
	X(dive_off) \
	X(hop)      \
	X(hop_far)  \
	X(again)
/* clang-format on */

#define FIRST_WAY_OUT 1000

#endif
