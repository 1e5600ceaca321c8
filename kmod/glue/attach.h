/* SPDX-License-Identifier: GPL-2.0 */
/* The ioctls that attach probes, and what they and DJPROBE_IOC_EXPLAIN share. */
#ifndef DJPROBE_KMOD_ATTACH_H
#define DJPROBE_KMOD_ATTACH_H

#include <linux/types.h>

struct djp_request;
struct file;

/* What is to run. */
struct djk_programs {
	int fd;
	bool shadow;
	int entry_fd; /* of a shadow: its session's other program; -1: none */
};

/* What a caller may not see is 0. */
void djk_hide_addresses(struct djp_request *request);

/* One way to name the site. Fills the request; the name is the caller's to free. */
int djk_read_site(struct djp_request *request, u64 symbol, u64 offset, u64 address);

/*
 * Attach all requests by one program and put a file around them; or an errno. `failed` is the index
 * of the refused request, or `count` when none of them is at fault.
 */
struct file *djk_attach_file(struct djp_request *requests, size_t count,
			     struct djk_programs programs, size_t *failed,
			     struct djp_request *refusal);

/* Give the file to the caller as `fd`, which is returned, or take all back. */
int djk_install(int fd, struct file *file, int error);

/* DJPROBE_IOC_ATTACH and DJPROBE_IOC_ATTACH_MANY; an fd or an errno. */
int djk_attach(void __user *argument);
int djk_attach_many(void __user *argument);

#endif
