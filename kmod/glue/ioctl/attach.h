/* SPDX-License-Identifier: GPL-2.0 */
/* The ioctls that attach probes, and what they share. */
#ifndef DJPROBE_KMOD_ATTACH_H
#define DJPROBE_KMOD_ATTACH_H

#include <linux/types.h>

struct djp_attachment;
struct file;

/* What is to run. */
struct djk_programs {
	int fd;
	const int *entry_fd; /* of shadows: their session's other program; NULL: no session */
};

/* Attach all requests by one program and put a file around them; or an errno. Sets each request's
 * source. */
struct file *djk_attach_file(struct djp_attachment *attachment, struct djk_programs programs);

/* Give the file to the caller as `fd`, which is returned, or take all back. */
int djk_install(int fd, struct file *file, int error);

/* DJPROBE_IOC_ATTACH and DJPROBE_IOC_ATTACH_MANY, for who may or may not see `addresses`; an fd or
 * an errno. */
int djk_attach(void __user *argument, bool addresses);
int djk_attach_many(void __user *argument, bool addresses);

#endif
