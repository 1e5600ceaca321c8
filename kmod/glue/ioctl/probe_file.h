/* SPDX-License-Identifier: GPL-2.0 */
/* The probe fd: probes that were attached together and live as long as it. */
#ifndef DJPROBE_KMOD_PROBE_FILE_H
#define DJPROBE_KMOD_PROBE_FILE_H

#include <linux/mutex.h>
#include <linux/types.h>

struct djp_probe;
struct file;

struct djk_group {
	struct mutex switching; /* one thread at a time enables or disables them */
	size_t count;
	u64 number; /* no other group has had it */
	struct djp_probe **probes;
};

/* A file around an attached group, whose owner it becomes; or an error, and the group is detached.
 */
struct file *djk_probe_file(struct djk_group *group);

#endif
