// SPDX-License-Identifier: GPL-2.0
/* DJPROBE_IOC_ATTACH_MANY: many sites, all or none. */
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../../../uapi/djprobe.h"
#include "abi.h"
#include "attach.h"
#include "../kernel.h"
#include "request.h"

struct many {
	struct djprobe_attach_many wanted;
	struct djprobe_site *sites;
	struct djp_request *asked; /* for each site */
	size_t *first;		   /* for each site, and one behind: the first of its requests */
	struct djk_request_list list;
	struct djp_request refusal;
	bool addresses; /* the caller may see them */
};

static int read_sites(struct many *many)
{
	const u32 returns_by_shadow = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW;
	u32 i;
	int error = 0;

	for (i = 0; i < many->wanted.count && !error; i++) {
		const struct djprobe_site *site = &many->sites[i];
		struct djp_request *request = &many->asked[i];

		if (!djk_are_site_flags(site->flags, site->offset) ||
		    (many->wanted.flags && site->flags != returns_by_shadow))
			return -EINVAL;
		error = djk_read_site(request, site->symbol, site->offset, site->address);
		request->cookie = site->cookie;
		request->int3_only = many->wanted.mode == DJPROBE_MODE_INT3;
	}
	return error;
}

static int write_sites(struct many *many, u32 first, u32 last)
{
	struct djprobe_site __user *to = u64_to_user_ptr(many->wanted.sites);
	u32 i;

	djk_hide_addresses(many->asked + first, last - first, many->addresses);
	for (i = first; i < last; i++) {
		const struct djp_request *request = &many->asked[i];
		struct djprobe_site *site = &many->sites[i];

		site->address = request->address;
		djk_write_reason(request, &site->reason, site->detail);
	}
	return copy_to_user(to + first, many->sites + first, (last - first) * sizeof(*to)) ? -EFAULT
											   : 0;
}

/* The index of a site that is no site, or their count. */
static u32 add_sites(struct many *many)
{
	u32 i;

	for (i = 0; i < many->wanted.count; i++) {
		many->first[i] = many->list.count;
		if (djk_is_dying()) {
			many->asked[i].reason = DJPROBE_REASON_INTERRUPTED;
			break;
		}
		if (!djk_may_name(&many->asked[i], many->addresses) ||
		    !djk_add_site(&many->list, &many->asked[i], many->sites[i].flags))
			break;
		cond_resched();
	}
	many->first[i] = many->list.count;
	return i;
}

static struct file *attach_sites(struct many *many)
{
	struct djprobe_attach_many *const wanted = &many->wanted;
	const struct djk_programs programs = {
		.fd = wanted->prog_fd,
		.entry_fd = wanted->flags ? &wanted->entry_prog_fd : NULL,
	};
	struct file *file;
	size_t failed;
	u32 i;

	wanted->failed = add_sites(many);
	if (wanted->failed < wanted->count) {
		many->refusal = many->asked[wanted->failed];
		return ERR_PTR(djk_errno_of(many->refusal.reason));
	}
	file = djk_attach_file(&many->list, programs, &failed, &many->refusal);
	for (i = 0; i < wanted->count; i++) {
		const size_t first = many->first[i], last = many->first[i + 1];

		if (!IS_ERR(file)) {
			djk_tell_site(&many->asked[i], many->list.all + first, last - first);
		} else if (failed >= first && failed < last) {
			wanted->failed = i;
			many->asked[i].address = many->refusal.address;
			djk_copy_reason(&many->asked[i], &many->refusal);
		}
	}
	return file;
}

static int attach_and_tell(struct many *many, void __user *argument)
{
	struct djprobe_attach_many *const wanted = &many->wanted;
	const int fd = get_unused_fd_flags(O_CLOEXEC);
	struct file *const file = fd < 0 ? ERR_PTR(fd) : attach_sites(many);
	int error;

	if (fd < 0)
		wanted->failed = wanted->count;
	wanted->reason = IS_ERR(file) ? many->refusal.reason : DJPROBE_REASON_NONE;
	djk_hide_addresses(&many->refusal, 1, many->addresses);
	wanted->detail[0] = many->refusal.detail[0];
	wanted->detail[1] = many->refusal.detail[1];
	error = djk_write_struct(argument, wanted, sizeof(*wanted));
	if (!error && !IS_ERR(file))
		error = write_sites(many, 0, wanted->count);
	else if (!error && wanted->failed < wanted->count)
		error = write_sites(many, wanted->failed, wanted->failed + 1);
	return djk_install(fd, file, error);
}

static bool are_in_order(const struct djprobe_attach_many *wanted)
{
	const bool session = wanted->flags == DJPROBE_ATTACH_SESSION;

	return (session || (!wanted->flags && !wanted->entry_prog_fd)) &&
	       wanted->mode <= DJPROBE_MODE_INT3 && wanted->count &&
	       wanted->count <= DJPROBE_MANY_MAX;
}

int djk_attach_many(void __user *argument, bool addresses)
{
	struct many many = { .addresses = addresses };
	struct djprobe_attach_many *const wanted = &many.wanted;
	u32 i;
	int result = djk_read_struct(wanted, sizeof(*wanted), argument);

	if (result)
		return result;
	if (!are_in_order(wanted))
		return -EINVAL;
	many.sites =
		vmemdup_user(u64_to_user_ptr(wanted->sites), wanted->count * sizeof(*many.sites));
	if (IS_ERR(many.sites))
		return PTR_ERR(many.sites);
	result = -ENOMEM;
	many.asked = kvcalloc(wanted->count, sizeof(*many.asked), GFP_KERNEL_ACCOUNT);
	many.first = kvcalloc(wanted->count + 1, sizeof(*many.first), GFP_KERNEL_ACCOUNT);
	if (!many.asked || !many.first)
		goto free_all;
	result = read_sites(&many);
	if (!result)
		result = attach_and_tell(&many, argument);
	for (i = 0; i < wanted->count; i++)
		kfree(many.asked[i].symbol);
free_all:
	kvfree(many.list.all);
	kvfree(many.first);
	kvfree(many.asked);
	kvfree(many.sites);
	return result;
}
