/* SPDX-License-Identifier: GPL-2.0 */
/* The event fd: it stands in a tool for a perf event or a BPF link. */
#ifndef DJPROBE_KMOD_EVENT_FILE_H
#define DJPROBE_KMOD_EVENT_FILE_H

/* DJPROBE_IOC_EVENT: an fd or a negative errno. */
int djk_event(unsigned long kind);

#endif
