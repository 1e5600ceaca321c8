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

void djk_hide_addresses(struct djp_request *request)
{
	if (djk_may_see_addresses())
		return;
	request->address = 0;
	request->detail[0] = request->detail[1] = 0;
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

struct file *djk_attach_file(struct djp_request *requests, size_t count,
			     struct djk_programs programs, size_t *failed,
			     struct djp_request *refusal)
{
	struct djk_group *group;
	size_t i;

	*failed = count;
	refusal->reason = DJPROBE_REASON_LOCKDOWN;
	if (security_locked_down(LOCKDOWN_KPROBES))
		return ERR_PTR(-EPERM);
	refusal->reason = DJPROBE_REASON_NO_MEMORY;
	group = kvzalloc(struct_size(group, probes, count), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->count = count;
	for (i = 0; i < count; i++) {
		requests[i].handler = djk_handler_of_program(programs.fd, requests[i].cookie,
							     &refusal->reason, refusal->detail);
		if (!requests[i].handler)
			goto destroy_handlers;
		if (programs.shadow && !djk_handler_shadows(requests[i].handler, programs.entry_fd,
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

struct return_list {
	struct djp_request *function, *requests;
	size_t count;
};

static void take_returns(void *context, const unsigned long *addresses, size_t count)
{
	struct return_list *list = context;
	size_t i;

	list->requests = kvcalloc(count, sizeof(*list->requests), GFP_KERNEL_ACCOUNT);
	if (!list->requests)
		return;
	list->count = count;
	for (i = 0; i < count; i++) {
		list->requests[i] = *list->function;
		list->requests[i].symbol = NULL;
		list->requests[i].offset = 0;
		list->requests[i].address = addresses[i];
	}
}

/* A request for each return of the function; NULL with its reason. */
static struct djp_request *expand_returns(struct djp_request *function, size_t *count)
{
	struct return_list list = { .function = function };

	djp_find_returns(function, take_returns, &list);
	if (!list.requests && !function->reason)
		function->reason = DJPROBE_REASON_NO_MEMORY;
	*count = list.count;
	return list.requests;
}

static struct file *attach_returns(struct djp_request *function, int prog_fd,
				   struct djp_request *refusal)
{
	size_t failed, count = 0;
	struct djp_request *requests = expand_returns(function, &count);
	struct file *file;

	*refusal = *function;
	if (!requests)
		return ERR_PTR(djk_errno_of(function->reason));
	file = djk_attach_file(requests, count, (struct djk_programs){ prog_fd }, &failed, refusal);
	/* Why not all of them get a jump. */
	for (failed = 0; failed < count && !function->reason; failed++) {
		function->reason = requests[failed].reason;
		function->detail[0] = requests[failed].detail[0];
		function->detail[1] = requests[failed].detail[1];
	}
	function->address = function->entry;
	kvfree(requests);
	return file;
}

static struct file *attach_shadow(struct djp_request *request, struct djk_programs programs,
				  struct djp_request *refusal)
{
	const char *symbol = request->symbol;
	struct file *file;
	size_t failed;

	if (djp_find_shadow_entry(request)) {
		file = djk_attach_file(request, 1, programs, &failed, refusal);
	} else {
		*refusal = *request;
		file = ERR_PTR(djk_errno_of(request->reason));
	}
	request->symbol = symbol;
	return file;
}

/* The flags that make sense together. */
static bool are_flags(const struct djprobe_attach *wanted)
{
	const u32 returns = DJPROBE_ATTACH_RETURN, shadow = returns | DJPROBE_ATTACH_SHADOW;
	const u32 session = shadow | DJPROBE_ATTACH_SESSION;

	if (wanted->flags != session && wanted->entry_prog_fd)
		return false;
	if (!wanted->flags)
		return true;
	return (wanted->flags == returns || wanted->flags == shadow || wanted->flags == session) &&
	       !wanted->offset;
}

int djk_attach(void __user *argument)
{
	struct djprobe_attach wanted;
	struct djp_request request = {}, refusal = {};
	struct djk_programs programs = { .shadow = true, .entry_fd = -1 };
	struct file *file;
	size_t failed;
	u32 size;
	int fd, i, error;

	error = djk_read_struct(&wanted, sizeof(wanted), argument, &size);
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
		programs.entry_fd = wanted.entry_prog_fd;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		file = ERR_PTR(fd);
	else if (wanted.flags & DJPROBE_ATTACH_SHADOW)
		file = attach_shadow(&request, programs, &refusal);
	else if (wanted.flags & DJPROBE_ATTACH_RETURN)
		file = attach_returns(&request, wanted.prog_fd, &refusal);
	else
		file = djk_attach_file(&request, 1, (struct djk_programs){ wanted.prog_fd },
				       &failed, &refusal);
	kfree(request.symbol);
	djk_hide_addresses(&request);
	djk_hide_addresses(&refusal);
	wanted.reason = IS_ERR(file) ? refusal.reason : request.reason;
	for (i = 0; i < 2; i++)
		wanted.detail[i] = IS_ERR(file) ? refusal.detail[i] : request.detail[i];
	wanted.address = request.address;
	error = djk_write_struct(argument, &wanted, sizeof(wanted));
	return djk_install(fd, file, error);
}
