/* SPDX-License-Identifier: GPL-2.0 */
/* The probe fd: probes that were attached together, and live as long as the fd. */
#ifndef DJPROBE_KMOD_PROBE_FILE_H
#define DJPROBE_KMOD_PROBE_FILE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>

struct djp_probe;
struct file;
struct seq_file;

struct djk_group {
	struct mutex switching; /* one thread at a time enables or disables them */
	size_t count;		/* at least 1 */
	u64 number;		/* no other group has had it */
	struct djp_probe **probes;
	unsigned long held;	    /* bit 0: an event has held it (event_file.c) */
	bool let_go;		    /* that event has been closed (`switching`) */
	struct file *kept;	    /* of the kernel's, until then (`switching`); or NULL */
	wait_queue_head_t watchers; /* they poll for that */
};

/* Make a file that owns an attached group. On failure the group is detached: an error pointer. */
struct file *djk_probe_file(struct djk_group *group);

/* The group of a probe fd's file; NULL: it is another kind of file. */
struct djk_group *djk_group_of(const struct file *file);

/* Take the probes out of the text, for good as far as the event is concerned that held them, and
 * let go of the kernel's file. */
void djk_group_let_go(struct djk_group *group);

/* An ioctl of the probe fd, by way of `file`; what its fdinfo shows. */
long djk_group_ioctl(struct djk_group *group, const struct file *file, unsigned int command,
		     unsigned long argument);
void djk_group_show(const struct djk_group *group, struct seq_file *out);

#endif
