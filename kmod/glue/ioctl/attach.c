// SPDX-License-Identifier: GPL-2.0
/* Requests become attached probes and their file. DJPROBE_IOC_ATTACH: one site, or the returns of
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
#include "../hit/make_handler.h"
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

struct file *djk_attach_file(struct djp_attachment *attachment, struct djk_programs programs)
{
	const struct djk_counter_source counters =
		djk_source_of_counters(programs.fd, programs.actions);
	struct djk_program_source source;
	struct djk_group *group;
	size_t i, shadows = 0;

	attachment->failed = attachment->count;
	attachment->reason = DJPROBE_REASON_LOCKDOWN;
	if (!djk_may_touch_text())
		return ERR_PTR(-EPERM);
	attachment->reason = DJPROBE_REASON_NO_MEMORY;
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < attachment->count; i++)
		shadows += attachment->requests[i].where == DJP_SHADOW_ENTRY;
	source = djk_source_of_program(programs.fd, programs.entry_fd, shadows);
	source.shown_as = programs.shown_as;
	source.conditions = programs.actions;
	for (i = 0; i < attachment->count; i++)
		attachment->requests[i].source = programs.count ? &counters.source : &source.source;
	attachment->reason = DJPROBE_REASON_NONE;
	if (!djp_attach(attachment)) {
		kfree(group);
		return ERR_PTR(djk_errno_of(attachment->reason));
	}
	group->probes = attachment->probes;
	group->count = attachment->probe_count;
	return djk_probe_file(group);
}

static struct file *attach_site(struct djp_request *site, struct djk_programs programs,
				bool addresses)
{
	struct djp_attachment attachment = { .requests = site, .count = 1 };
	struct file *file;

	if (!djk_may_name(site, addresses))
		return ERR_PTR(djk_errno_of(site->reason));
	file = djk_attach_file(&attachment, programs);
	if (IS_ERR(file)) {
		site->reason = attachment.reason;
		site->detail[0] = attachment.detail[0];
		site->detail[1] = attachment.detail[1];
	}
	return file;
}

/* Whether the flags go together. */
static bool are_flags(const struct djprobe_attach *wanted)
{
	const u32 session = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW | DJPROBE_ATTACH_SESSION;

	if (wanted->flags == session)
		return !wanted->offset;
	if ((wanted->flags & ~DJPROBE_ATTACH_ONCE) == DJPROBE_ATTACH_COUNT)
		return !wanted->entry_prog_fd;
	return !wanted->entry_prog_fd && djk_are_site_flags(wanted->flags, wanted->offset);
}

int djk_attach(void __user *argument, bool addresses)
{
	struct djprobe_attach wanted;
	struct djp_request request = {};
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
	request.once = wanted.flags & DJPROBE_ATTACH_ONCE;
	request.where = djk_where(wanted.flags);

	programs.fd = wanted.prog_fd;
	programs.count = wanted.flags & DJPROBE_ATTACH_COUNT;
	if (wanted.flags & DJPROBE_ATTACH_SESSION)
		programs.entry_fd = &wanted.entry_prog_fd;
	fd = get_unused_fd_flags(O_CLOEXEC);
	file = fd < 0 ? ERR_PTR(fd) : attach_site(&request, programs, addresses);
	kfree(request.symbol);
	djk_hide_addresses(&request, 1, addresses);
	djk_write_reason(&request, &wanted.reason, wanted.detail);
	wanted.address = request.address;
	error = djk_write_struct(argument, &wanted, sizeof(wanted));
	return djk_install(fd, file, error);
}
