// SPDX-License-Identifier: GPL-2.0
/* DJPROBE_IOC_ATTACH: one site, or the returns of one function. */
#include "attach.h"

#include <linux/file.h>
#include <linux/module.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../../uapi/djprobe.h"
#include "abi.h"
#include "handler.h"
#include "kernel.h"
#include "probe_file.h"

/* "MODULE:NAME" with its end. */
#define SYMBOL_ROOM (MODULE_NAME_LEN + KSYM_NAME_LEN)

/* ---- For all of them ---- */

void djk_hide_addresses(struct djp_request *requests, size_t count)
{
	size_t i;

	if (djk_may_see_addresses())
		return;
	for (i = 0; i < count; i++) {
		requests[i].address = 0;
		requests[i].detail[0] = requests[i].detail[1] = 0;
	}
}

int djk_read_site(struct djp_request *request, u64 symbol, u64 offset, u64 address)
{
	char *name;

	if (symbol ? address : offset)
		return -EINVAL;
	request->offset = offset;
	request->address = address;
	if (!symbol)
		return 0;
	name = strndup_user(u64_to_user_ptr(symbol), SYMBOL_ROOM);
	if (IS_ERR(name))
		return PTR_ERR(name);
	request->symbol = name;
	return 0;
}

bool djk_are_site_flags(u32 flags, u64 offset)
{
	const u32 returns = DJPROBE_ATTACH_RETURN, shadow = returns | DJPROBE_ATTACH_SHADOW;

	return !flags || ((flags == returns || flags == shadow) && !offset);
}

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

#define MOST_REQUESTS (16 * DJPROBE_MANY_MAX)

static bool add_request(struct djk_request_list *list, const struct djp_request *request)
{
	/* A list of sites is bounded, what returns they have is not. */
	if (list->count == MOST_REQUESTS)
		return false;
	if (list->count == list->room) {
		const size_t room = list->room ? 2 * list->room : 16;
		struct djp_request *all = kvmalloc_array(room, sizeof(*all), GFP_KERNEL_ACCOUNT);

		if (!all)
			return false;
		if (list->count)
			memcpy(all, list->all, list->count * sizeof(*all));
		kvfree(list->all);
		list->all = all;
		list->room = room;
	}
	list->all[list->count++] = *request;
	return true;
}

struct returns {
	struct djk_request_list *list;
	struct djp_request *function;
};

static void add_returns(void *context, const unsigned long *addresses, size_t count)
{
	const struct returns *returns = context;
	struct djp_request request = *returns->function;
	const size_t before = returns->list->count;
	size_t i;

	request.symbol = NULL;
	request.offset = 0;
	for (i = 0; i < count; i++) {
		request.address = addresses[i];
		if (!add_request(returns->list, &request)) {
			returns->list->count = before;
			return;
		}
	}
}

bool djk_add_site(struct djk_request_list *list, struct djp_request *site, u32 flags)
{
	struct djp_request request = *site;
	struct returns returns = { list, &request };
	const size_t before = list->count;

	request.shadow = flags & DJPROBE_ATTACH_SHADOW;
	if (!(flags & DJPROBE_ATTACH_RETURN))
		add_request(list, &request);
	else if (!request.shadow)
		djp_find_returns(&request, add_returns, &returns);
	else if (djp_find_shadow_entry(&request))
		add_request(list, &request);
	if (list->count == before && !request.reason)
		request.reason = DJPROBE_REASON_NO_MEMORY;
	/* The name is still the caller's to free. */
	request.symbol = site->symbol;
	*site = request;
	return list->count > before;
}

void djk_tell_site(struct djp_request *site, const struct djp_request *requests, size_t count)
{
	const bool returns = site->entry && !site->shadow;
	size_t i;

	site->address = returns ? site->entry : requests->address;
	/* Why not all of them get a jump. */
	for (i = 0; i < count && !site->reason; i++) {
		site->reason = requests[i].reason;
		site->detail[0] = requests[i].detail[0];
		site->detail[1] = requests[i].detail[1];
	}
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
	if (security_locked_down(LOCKDOWN_KPROBES))
		return ERR_PTR(-EPERM);
	refusal->reason = DJPROBE_REASON_NO_MEMORY;
	group = kvzalloc(struct_size(group, probes, count), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->count = count;
	for (i = 0; i < count; i++)
		shadows += requests[i].shadow;
	for (i = 0; i < count; i++) {
		requests[i].handler = djk_handler_of_program(programs.fd, requests[i].cookie,
							     &refusal->reason, refusal->detail);
		if (!requests[i].handler)
			goto destroy_handlers;
		if (requests[i].shadow &&
		    !djk_handler_shadows(requests[i].handler, programs.entry_fd, shadows,
					 &refusal->reason, refusal->detail)) {
			djk_probe_destroy(requests[i].handler);
			goto destroy_handlers;
		}
		cond_resched();
	}
	*failed = djp_attach(requests, count, group->probes);
	if (*failed == count)
		return djk_probe_file(group);
	*refusal = requests[*failed];

destroy_handlers:
	while (i--)
		djk_probe_destroy(requests[i].handler);
	kvfree(group);
	return ERR_PTR(djk_errno_of(refusal->reason));
}

/* ---- This one ---- */

static struct file *attach_site(struct djp_request *site, u32 flags, struct djk_programs programs,
				struct djp_request *refusal)
{
	struct djk_request_list list = {};
	struct file *file;
	size_t failed;

	if (!djk_add_site(&list, site, flags)) {
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

int djk_attach(void __user *argument)
{
	struct djprobe_attach wanted;
	struct djp_request request = {}, refusal = {};
	struct djk_programs programs = {};
	struct file *file;
	int fd, i, error;

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
	file = fd < 0 ? ERR_PTR(fd) : attach_site(&request, wanted.flags, programs, &refusal);
	kfree(request.symbol);
	djk_hide_addresses(&request, 1);
	djk_hide_addresses(&refusal, 1);
	wanted.reason = IS_ERR(file) ? refusal.reason : request.reason;
	for (i = 0; i < 2; i++)
		wanted.detail[i] = IS_ERR(file) ? refusal.detail[i] : request.detail[i];
	wanted.address = request.address;
	error = djk_write_struct(argument, &wanted, sizeof(wanted));
	return djk_install(fd, file, error);
}
