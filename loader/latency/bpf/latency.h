/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs of `probeload latency` measure, for them and for the loader that reads it. */
#ifndef DJPROBE_LATENCY_H
#define DJPROBE_LATENCY_H

#define LATENCY_SLOTS 64
#define LATENCY_COMM 16
#define LATENCY_COMMS 1024

/* In place of a time: the tasks of probeload itself do not count. */
#define LATENCY_LEFT_OUT (~0ULL)

/* Nanoseconds from begin to end. All zero before the first pair. */
struct latency_times {
    __u64 sum;
    __u64 inverted_least; /* the complement of the least: so it begins at zero, too */
    __u64 most;
    __u64 slots[LATENCY_SLOTS]; /* by powers of two; the first one also has 0 */
};

/* What one CPU has seen. Nothing else writes to it, and nothing interrupts a program by another. */
struct latency_seen {
    struct latency_times all;
    __u64 begins;        /* that were kept */
    __u64 again;         /* of these, in place of one that had no end yet */
    __u64 unbegun;       /* ends without a begin */
    __u64 missed_begins; /* of tasks that have no place in the array */
    __u64 missed_ends;
    __u64 unnamed;    /* pairs that found no room in the table of names */
    __u64 idle_began; /* of the idle task, whose number is that of all idle tasks */
};

/* The same as actions of the module's count it: what each of the two lists changes is in a row, in
 * the order of uapi/djprobe_action.h. `uncompared`: how many times may be above the most, or below
 * the least. */
struct latency_counted {
    __u64 begin_hits;
    __u64 begins, again, missed_begins; /* `begins` without those that came again */
    __u64 end_hits;
    __u64 unbegun, missed_ends;
    __u64 sum;
    __u64 most, most_uncompared;
    __u64 inverted_least, least_uncompared;
    __u64 slots[LATENCY_SLOTS + 1]; /* 0, then by powers of two */
};

struct latency_comm {
    char name[LATENCY_COMM];
};

#endif
