/* SPDX-License-Identifier: GPL-2.0 */
/* The ioctls that attach probes, and what they share. */
#ifndef DJPROBE_KMOD_ATTACH_H
#define DJPROBE_KMOD_ATTACH_H

#include <linux/types.h>

#include "../hit/make_handler.h"

struct djk_action_list;
struct djp_attachment;
struct file;

/* What happens on a hit. */
struct djk_programs {
	int fd;
	const int *entry_fd; /* a session's program for the entry; NULL: no session */
	bool count;	     /* run none: `fd` is that of the map that holds the counters */
	struct djk_action_list *actions; /* what is done with them, or NULL: they are incremented;
					  * else what is in front of the program, or NULL */
	enum djk_shown_as shown_as;
};

/* Attach one program, or a counter each, for all requests and make a file that owns the probes; or
 * an error pointer. Sets each request's source. */
struct file *djk_attach_file(struct djp_attachment *attachment, struct djk_programs programs);

/* Give the file to the caller as `fd`, and return that. Where the file is an error pointer, or
 * `error` is not 0, take file and fd back and return the errno. */
int djk_install(int fd, struct file *file, int error);

/* DJPROBE_IOC_ATTACH and DJPROBE_IOC_ATTACH_MANY; `addresses`: the caller may see them. An fd or a
 * negative errno. */
int djk_attach(void __user *argument, bool addresses);
int djk_attach_many(void __user *argument, bool addresses);

#endif
