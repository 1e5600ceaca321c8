// SPDX-License-Identifier: GPL-2.0
/* From requests to attached probes and their file. DJPROBE_IOC_ATTACH: one site, or the returns of
 * one function. */
#include "attach.h"

#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../../../uapi/djprobe.h"
#include "abi.h"
#include "../hit/handler.h"
#include "../kernel.h"
#include "probe_file.h"
#include "request.h"

int djk_install(int fd, struct file *file, int error)
{
	if (IS_ERR(file) || error) {
		error = IS_ERR(file) ? PTR_ERR(file) : error;
		if (!IS_ERR(file))
			fput(file);
		if (fd >= 0)
			put_unused_fd(fd);
		return error;
	}
	fd_install(fd, file);
	return fd;
}

struct file *djk_attach_file(struct djk_request_list *list, struct djk_programs programs,
			     size_t *failed, struct djp_request *refusal)
{
	struct djp_request *const requests = list->all;
	const size_t count = list->count;
	struct djk_group *group;
	size_t i, shadows = 0;

	*failed = count;
	refusal->reason = DJPROBE_REASON_LOCKDOWN;
	if (!djk_may_touch_text())
		return ERR_PTR(-EPERM);
	refusal->reason = DJPROBE_REASON_NO_MEMORY;
	group = kvzalloc(struct_size(group, probes, count), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->count = count;
	for (i = 0; i < count; i++)
		shadows += requests[i].shadow;
	for (i = 0; i < count; i++) {
		if (djk_is_dying()) {
			refusal->reason = DJPROBE_REASON_INTERRUPTED;
			goto destroy_handlers;
		}
		requests[i].handler = djk_handler_of_program(programs.fd, requests[i].cookie,
							     &refusal->reason, refusal->detail);
		if (!requests[i].handler)
			goto destroy_handlers;
		if (requests[i].shadow &&
		    !djk_handler_shadows(requests[i].handler, programs.entry_fd, shadows,
					 &refusal->reason, refusal->detail)) {
			djk_handler_destroy(requests[i].handler);
			goto destroy_handlers;
		}
		cond_resched();
	}
	*failed = djp_attach(requests, count, group->probes);
	if (*failed == count)
		return djk_probe_file(group);
	*refusal = requests[*failed];

destroy_handlers:
	while (i--) {
		djk_handler_destroy(requests[i].handler);
		cond_resched();
	}
	kvfree(group);
	return ERR_PTR(djk_errno_of(refusal->reason));
}

static struct file *attach_site(struct djp_request *site, u32 flags, struct djk_programs programs,
				struct djp_request *refusal, bool addresses)
{
	struct djk_request_list list = {};
	struct file *file;
	size_t failed;

	if (!djk_may_name(site, addresses) || !djk_add_site(&list, site, flags)) {
		*refusal = *site;
		file = ERR_PTR(djk_errno_of(site->reason));
	} else {
		file = djk_attach_file(&list, programs, &failed, refusal);
		djk_tell_site(site, list.all, list.count);
	}
	kvfree(list.all);
	return file;
}

/* The flags that make sense together. */
static bool are_flags(const struct djprobe_attach *wanted)
{
	const u32 session = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW | DJPROBE_ATTACH_SESSION;

	if (wanted->flags == session)
		return !wanted->offset;
	return !wanted->entry_prog_fd && djk_are_site_flags(wanted->flags, wanted->offset);
}

int djk_attach(void __user *argument, bool addresses)
{
	struct djprobe_attach wanted;
	struct djp_request request = {}, refusal = {};
	struct djk_programs programs = {};
	struct file *file;
	int fd, error;

	error = djk_read_struct(&wanted, sizeof(wanted), argument);
	if (!error && (!are_flags(&wanted) || wanted.mode > DJPROBE_MODE_INT3))
		error = -EINVAL;
	if (!error)
		error = djk_read_site(&request, wanted.symbol, wanted.offset, wanted.address);
	if (error)
		return error;
	request.cookie = wanted.cookie;
	request.int3_only = wanted.mode == DJPROBE_MODE_INT3;

	programs.fd = wanted.prog_fd;
	if (wanted.flags & DJPROBE_ATTACH_SESSION)
		programs.entry_fd = &wanted.entry_prog_fd;
	fd = get_unused_fd_flags(O_CLOEXEC);
	file = fd < 0 ? ERR_PTR(fd)
		      : attach_site(&request, wanted.flags, programs, &refusal, addresses);
	kfree(request.symbol);
	djk_hide_addresses(&request, 1, addresses);
	djk_hide_addresses(&refusal, 1, addresses);
	djk_write_reason(IS_ERR(file) ? &refusal : &request, &wanted.reason, wanted.detail);
	wanted.address = request.address;
	error = djk_write_struct(argument, &wanted, sizeof(wanted));
	return djk_install(fd, file, error);
}
