// SPDX-License-Identifier: GPL-2.0
/* DJPROBE_IOC_ATTACH_MANY: many sites, all or none. */
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../../uapi/djprobe.h"
#include "abi.h"
#include "attach.h"
#include "kernel.h"

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
		error = djk_read_site(&requests[i], sites[i].symbol, sites[i].offset,
				      sites[i].address);
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
		djk_hide_addresses(&requests[i]);
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
		      : djk_attach_file(requests, wanted->count,
					(struct djk_programs){ wanted->prog_fd }, &failed,
					&refusal);
	wanted->failed = failed;
	wanted->reason = IS_ERR(file) ? refusal.reason : DJPROBE_REASON_NONE;
	djk_hide_addresses(&refusal);
	wanted->detail[0] = refusal.detail[0];
	wanted->detail[1] = refusal.detail[1];
	error = djk_write_struct(argument, wanted, sizeof(*wanted));
	if (!error && !IS_ERR(file))
		error = write_sites(user_sites, sites, requests, 0, wanted->count);
	else if (!error && failed < wanted->count)
		error = write_sites(user_sites, sites, requests, failed, failed + 1);
	return djk_install(fd, file, error);
}

int djk_attach_many(void __user *argument)
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
