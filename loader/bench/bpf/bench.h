/* SPDX-License-Identifier: GPL-2.0 */
/* What the benchmark's programs and the lists of actions in their place have in common. */
#ifndef DJPROBE_BENCH_H
#define DJPROBE_BENCH_H

/* Of a histogram: as many as DJPROBE_ACTION_LOG2 has. */
#define BENCH_SLOTS 65
/* No register that is looked at holds this: the filter lets every hit through. */
#define BENCH_NEVER 1

#endif
