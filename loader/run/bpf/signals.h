/* SPDX-License-Identifier: GPL-2.0 */
/* What signals.bpf.c tells probeload. */
#ifndef DJPROBE_SIGNALS_H
#define DJPROBE_SIGNALS_H

#define SIGNALS_NUMBERS 65 /* from 1 on */

struct signal_sent {
    unsigned long long time;   /* CLOCK_MONOTONIC, ns; 0: never */
    unsigned long long sender; /* a process */
};

#endif
