/* SPDX-License-Identifier: GPL-2.0 */
/* The probe fd: probes that were attached together, and live as long as the fd. */
#ifndef DJPROBE_KMOD_PROBE_FILE_H
#define DJPROBE_KMOD_PROBE_FILE_H

#include <linux/mutex.h>
#include <linux/types.h>

struct djp_probe;
struct file;

struct djk_group {
	struct mutex switching; /* one thread at a time enables or disables them */
	size_t count;		/* at least 1 */
	u64 number;		/* no other group has had it */
	struct djp_probe **probes;
};

/* Make a file that owns an attached group. On failure the group is detached: an error pointer. */
struct file *djk_probe_file(struct djk_group *group);

#endif
