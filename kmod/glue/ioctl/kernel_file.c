// SPDX-License-Identifier: GPL-2.0
#include "kernel_file.h"

#include <linux/bpf.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>

#include "../kernel/imports.h"

/* A link is the data of its own file only. So the answer is right where another thread changes what
 * `fd` is meanwhile, too. */
static bool is_file_of_link(const struct file *file, int fd)
{
	struct bpf_link *const link = (struct bpf_link *)djk_call1(bpf_link_get_from_fd, fd);
	bool is;

	if (IS_ERR(link))
		return false;
	is = file->private_data == link;
	djk_call1(bpf_link_put, link);
	return is;
}

static struct file *link_file(int fd)
{
	struct file *const file = fget(fd);

	if (file && is_file_of_link(file, fd))
		return file;
	if (file)
		fput(file);
	return ERR_PTR(-EBADF);
}

struct file *djk_kernel_file(int fd)
{
	struct file *const event = (struct file *)djk_call1(perf_event_get, fd);

	return IS_ERR(event) ? link_file(fd) : event;
}
