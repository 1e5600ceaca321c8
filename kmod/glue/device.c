// SPDX-License-Identifier: GPL-2.0
/* The ioctls of /dev/djprobe, the control fd. */
#include "device.h"

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>

#include "../../uapi/djprobe.h"
#include "abi.h"
#include "handler.h"
#include "kernel.h"
#include "probe_file.h"

/* "MODULE:NAME" with its end. */
#define SYMBOL_ROOM (MODULE_NAME_LEN + KSYM_NAME_LEN)

/* What a caller may not see is 0. */
static void hide_addresses(struct djp_request *request)
{
	if (djk_may_see_addresses())
		return;
	request->address = 0;
	request->detail[0] = request->detail[1] = 0;
}

/* ---- Control fd ---- */

static int info(void __user *argument)
{
	struct djprobe_info answer;
	u32 size;
	const int error = djk_read_struct(&answer, sizeof(answer), argument, &size);

	if (error)
		return error;
	memset(&answer, 0, sizeof(answer));
	answer.size = size;
	answer.abi_version = DJPROBE_ABI_VERSION;
	strscpy(answer.release, init_utsname()->release, sizeof(answer.release));
	return djk_write_struct(argument, &answer, sizeof(answer));
}

/* One way to name the site. Fills the request; the name is the caller's to free. */
static int read_site(struct djp_request *request, u64 symbol, u64 offset, u64 address)
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

static int explain(void __user *argument)
{
	struct djprobe_explain answer;
	struct djp_request request = {};
	struct djp_verdict verdict = {};
	bool located;
	u32 size;
	int error;

	BUILD_BUG_ON(sizeof(answer.region) != sizeof(verdict.region));
	error = djk_read_struct(&answer, sizeof(answer), argument, &size);
	if (!error && (answer.flags || answer.reserved))
		error = -EINVAL;
	if (!error)
		error = read_site(&request, answer.symbol, answer.offset, answer.address);
	if (error)
		return error;
	located = djp_explain(&request, &verdict);
	kfree(request.symbol);
	hide_addresses(&request);
	if (!request.address)
		verdict.anchor = verdict.board = 0;
	answer.address = request.address;
	answer.verdict = verdict.verdict;
	answer.reason = request.reason;
	answer.detail[0] = request.detail[0];
	answer.detail[1] = request.detail[1];
	answer.tactic = verdict.tactic;
	answer.before = verdict.before;
	answer.anchor = verdict.anchor;
	answer.board = verdict.board;
	answer.region_len = verdict.region_len;
	memcpy(answer.region, verdict.region, sizeof(answer.region));
	error = djk_write_struct(argument, &answer, sizeof(answer));
	if (error)
		return error;
	return located ? 0 : djk_errno_of(request.reason);
}

/* Give the file to the caller, or take all back. */
static int install(int fd, struct file *file, int error)
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

/* What is to run. */
struct programs {
	int fd;
	bool shadow;
	int entry_fd; /* of a shadow: its session's other program; -1: none */
};

/*
 * Attach all requests by one program and put a file around them; or an errno. `failed` is the index
 * of the refused request, or `count` when none of them is at fault.
 */
static struct file *attach_file(struct djp_request *requests, size_t count,
				struct programs programs, size_t *failed,
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

/* ---- One site, or the returns of one function ---- */

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
	file = attach_file(requests, count, (struct programs){ prog_fd }, &failed, refusal);
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

static struct file *attach_shadow(struct djp_request *request, struct programs programs,
				  struct djp_request *refusal)
{
	const char *symbol = request->symbol;
	struct file *file;
	size_t failed;

	if (djp_find_shadow_entry(request)) {
		file = attach_file(request, 1, programs, &failed, refusal);
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

static int attach(struct djprobe_attach __user *argument)
{
	struct djprobe_attach wanted;
	struct djp_request request = {}, refusal = {};
	struct programs programs = { .shadow = true, .entry_fd = -1 };
	struct file *file;
	size_t failed;
	u32 size;
	int fd, i, error;

	error = djk_read_struct(&wanted, sizeof(wanted), argument, &size);
	if (!error && (!are_flags(&wanted) || wanted.mode > DJPROBE_MODE_INT3))
		error = -EINVAL;
	if (!error)
		error = read_site(&request, wanted.symbol, wanted.offset, wanted.address);
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
		file = attach_file(&request, 1, (struct programs){ wanted.prog_fd }, &failed,
				   &refusal);
	kfree(request.symbol);
	hide_addresses(&request);
	hide_addresses(&refusal);
	wanted.reason = IS_ERR(file) ? refusal.reason : request.reason;
	for (i = 0; i < 2; i++)
		wanted.detail[i] = IS_ERR(file) ? refusal.detail[i] : request.detail[i];
	wanted.address = request.address;
	error = djk_write_struct(argument, &wanted, sizeof(wanted));
	return install(fd, file, error);
}

/* ---- Many sites ---- */

static void fill_site(struct djprobe_site *site, const struct djp_request *request)
{
	site->address = request->address;
	site->reason = request->reason;
	site->detail[0] = request->detail[0];
	site->detail[1] = request->detail[1];
}

static int read_sites(struct djp_request *requests, const struct djprobe_site *sites, size_t count,
		      bool int3_only)
{
	size_t i;
	int error = 0;

	for (i = 0; i < count && !error; i++) {
		if (sites[i].flags)
			return -EINVAL;
		error = read_site(&requests[i], sites[i].symbol, sites[i].offset, sites[i].address);
		requests[i].cookie = sites[i].cookie;
		requests[i].int3_only = int3_only;
	}
	return error;
}

static int write_sites(struct djprobe_site __user *to, struct djprobe_site *sites,
		       struct djp_request *requests, size_t first, size_t last)
{
	size_t i;

	for (i = first; i < last; i++)
		hide_addresses(&requests[i]);
	for (i = first; i < last; i++)
		fill_site(&sites[i], &requests[i]);
	return copy_to_user(to + first, sites + first, (last - first) * sizeof(*sites)) ? -EFAULT
											: 0;
}

static int attach_read_sites(struct djprobe_attach_many *wanted, struct djprobe_site *sites,
			     struct djp_request *requests, void __user *argument)
{
	struct djprobe_site __user *user_sites = u64_to_user_ptr(wanted->sites);
	struct djp_request refusal = {};
	struct file *file;
	size_t failed = wanted->count;
	int fd, error;

	fd = get_unused_fd_flags(O_CLOEXEC);
	file = fd < 0 ? ERR_PTR(fd)
		      : attach_file(requests, wanted->count, (struct programs){ wanted->prog_fd },
				    &failed, &refusal);
	wanted->failed = failed;
	wanted->reason = IS_ERR(file) ? refusal.reason : DJPROBE_REASON_NONE;
	hide_addresses(&refusal);
	wanted->detail[0] = refusal.detail[0];
	wanted->detail[1] = refusal.detail[1];
	error = djk_write_struct(argument, wanted, sizeof(*wanted));
	if (!error && !IS_ERR(file))
		error = write_sites(user_sites, sites, requests, 0, wanted->count);
	else if (!error && failed < wanted->count)
		error = write_sites(user_sites, sites, requests, failed, failed + 1);
	return install(fd, file, error);
}

static int attach_many(void __user *argument)
{
	struct djprobe_attach_many wanted;
	struct djprobe_site *sites;
	struct djp_request *requests;
	size_t i;
	u32 size;
	int result = djk_read_struct(&wanted, sizeof(wanted), argument, &size);

	if (result)
		return result;
	if (wanted.flags || wanted.reserved || wanted.mode > DJPROBE_MODE_INT3 || !wanted.count ||
	    wanted.count > DJPROBE_MANY_MAX)
		return -EINVAL;
	sites = vmemdup_user(u64_to_user_ptr(wanted.sites), wanted.count * sizeof(*sites));
	if (IS_ERR(sites))
		return PTR_ERR(sites);
	result = -ENOMEM;
	requests = kvcalloc(wanted.count, sizeof(*requests), GFP_KERNEL_ACCOUNT);
	if (!requests)
		goto free_sites;
	result = read_sites(requests, sites, wanted.count, wanted.mode == DJPROBE_MODE_INT3);
	if (!result)
		result = attach_read_sites(&wanted, sites, requests, argument);
	for (i = 0; i < wanted.count; i++)
		kfree(requests[i].symbol);
	kvfree(requests);
free_sites:
	kvfree(sites);
	return result;
}

static long control_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	if (!djk_may_probe())
		return -EPERM;
	switch (command) {
	case DJPROBE_IOC_INFO:
		return info((void __user *)argument);
	case DJPROBE_IOC_EXPLAIN:
		return explain((void __user *)argument);
	case DJPROBE_IOC_ATTACH:
		return attach((void __user *)argument);
	case DJPROBE_IOC_ATTACH_MANY:
		return attach_many((void __user *)argument);
	default:
		return -ENOTTY;
	}
}

static int control_open(struct inode *inode, struct file *file)
{
	return djk_may_probe() ? 0 : -EPERM;
}

static const struct file_operations control_operations = {
	.owner = THIS_MODULE,
	.open = control_open,
	.unlocked_ioctl = control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "djprobe",
	.mode = 0600,
	.fops = &control_operations,
};

int djk_device_start(void)
{
	return misc_register(&device);
}

void djk_device_stop(void)
{
	misc_deregister(&device);
}
