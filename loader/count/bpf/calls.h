/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs of `probeload count` are told, for them and for the loader. */
#ifndef DJPROBE_CALLS_H
#define DJPROBE_CALLS_H

struct calls_filter {
    __u64 name[2]; /* of a thread, with zeros behind it */
    __u32 process, thread;
    bool by_name, by_process, by_thread;
};

#endif
