// SPDX-License-Identifier: GPL-2.0
/* DJPROBE_IOC_ATTACH_MANY: many sites, all or none, or all but those that are refused. */
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../../../uapi/djprobe.h"
#include "abi.h"
#include "attach.h"
#include "../hit/actions.h"
#include "../kernel.h"
#include "request.h"

struct many {
	struct djprobe_attach_many wanted;
	struct djprobe_site *sites;
	struct djp_request *asked;	 /* for each site */
	struct djk_action_list *actions; /* or NULL */
	bool addresses;			 /* the caller may see them */
};

static int read_sites(struct many *many)
{
	const u32 returns_by_shadow = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW;
	const bool session = many->wanted.flags & DJPROBE_ATTACH_SESSION;
	/* What counts runs at the site itself. */
	const bool count = many->wanted.flags & DJPROBE_ATTACH_COUNT;
	u32 i;
	int error = 0;

	for (i = 0; i < many->wanted.count && !error; i++) {
		const struct djprobe_site *site = &many->sites[i];
		struct djp_request *request = &many->asked[i];

		if (!djk_are_site_flags(site->flags, site->offset) ||
		    (session && site->flags != returns_by_shadow) ||
		    (count && site->flags & ~DJPROBE_ATTACH_RETURN))
			return -EINVAL;
		error = djk_read_site(request, site->symbol, site->offset, site->address);
		request->cookie = site->cookie;
		request->int3_only = many->wanted.mode == DJPROBE_MODE_INT3;
		request->once = many->wanted.flags & DJPROBE_ATTACH_ONCE;
		request->where = djk_where(site->flags);
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
		if (request->left_out)
			site->flags |= DJPROBE_SITE_LEFT_OUT;
		djk_write_reason(request, &site->reason, site->detail);
	}
	return copy_to_user(to + first, many->sites + first, (last - first) * sizeof(*to)) ? -EFAULT
											   : 0;
}

/* What the caller is told of the sites. */
static int tell_sites(struct many *many, bool attached)
{
	const u32 count = many->wanted.count, failed = many->wanted.failed;

	if (attached || (failed < count && many->asked[failed].left_out))
		return write_sites(many, 0, count);
	return failed < count ? write_sites(many, failed, failed + 1) : 0;
}

static u32 count_left_out(const struct many *many)
{
	u32 i, count = 0;

	for (i = 0; i < many->wanted.count; i++)
		count += many->asked[i].left_out;
	return count;
}

/* The index of a site that the caller may not name by its address, or their count. */
static u32 find_forbidden(struct many *many)
{
	u32 i;

	for (i = 0; i < many->wanted.count; i++)
		if (!djk_may_name(&many->asked[i], many->addresses))
			break;
	return i;
}

static enum djk_shown_as shown_as(u32 flags)
{
	if (flags == DJPROBE_ATTACH_AS_KPROBE)
		return DJK_AS_KPROBE;
	return flags == DJPROBE_ATTACH_AS_MULTI ? DJK_AS_MULTI : DJK_AS_PROBE;
}

static struct file *attach_sites(struct many *many, struct djp_attachment *attachment)
{
	struct djprobe_attach_many *const wanted = &many->wanted;
	const u32 flags = wanted->flags & ~DJPROBE_ATTACH_SKIP;
	const struct djk_programs programs = {
		.fd = wanted->prog_fd,
		.entry_fd = flags == DJPROBE_ATTACH_SESSION ? &wanted->entry_prog_fd : NULL,
		.count = flags & DJPROBE_ATTACH_COUNT,
		.actions = many->actions,
		.shown_as = shown_as(flags),
	};
	struct file *file;

	wanted->failed = wanted->count;
	if (!djk_are_actions(many->actions, !programs.count, attachment))
		return ERR_PTR(djk_errno_of(attachment->reason));
	if (djk_has_timer(many->actions) &&
	    !djk_take_times(many->actions, wanted->times_fd, attachment))
		return ERR_PTR(djk_errno_of(attachment->reason));
	wanted->failed = find_forbidden(many);
	if (wanted->failed < wanted->count) {
		attachment->reason = many->asked[wanted->failed].reason;
		return ERR_PTR(djk_errno_of(attachment->reason));
	}
	file = djk_attach_file(attachment, programs);
	wanted->failed = IS_ERR(file) ? attachment->failed : count_left_out(many);
	return file;
}

static int attach_and_tell(struct many *many, void __user *argument)
{
	struct djprobe_attach_many *const wanted = &many->wanted;
	struct djp_attachment attachment = {
		.requests = many->asked,
		.count = wanted->count,
		.skip_refused = wanted->flags & DJPROBE_ATTACH_SKIP,
	};
	const int fd = get_unused_fd_flags(O_CLOEXEC);
	struct file *const file = fd < 0 ? ERR_PTR(fd) : attach_sites(many, &attachment);
	int error;

	if (fd < 0)
		wanted->failed = wanted->count;
	wanted->reason = IS_ERR(file) ? attachment.reason : DJPROBE_REASON_NONE;
	wanted->detail[0] = many->addresses ? attachment.detail[0] : 0;
	wanted->detail[1] = many->addresses ? attachment.detail[1] : 0;
	error = djk_write_struct(argument, wanted, sizeof(*wanted));
	if (!error)
		error = tell_sites(many, !IS_ERR(file));
	return djk_install(fd, file, error);
}

static bool are_in_order(const struct djprobe_attach_many *wanted)
{
	switch (wanted->flags & ~DJPROBE_ATTACH_SKIP) {
	case DJPROBE_ATTACH_SESSION:
		break;
	case 0:
	case DJPROBE_ATTACH_COUNT:
	case DJPROBE_ATTACH_COUNT | DJPROBE_ATTACH_ONCE:
	case DJPROBE_ATTACH_AS_KPROBE:
	case DJPROBE_ATTACH_AS_MULTI:
		if (!wanted->entry_prog_fd)
			break;
		fallthrough;
	default:
		return false;
	}
	if (wanted->action_count > DJPROBE_ACTIONS_MAX ||
	    (!wanted->action_count && wanted->actions))
		return false;
	return wanted->mode <= DJPROBE_MODE_INT3 && wanted->count &&
	       wanted->count <= DJPROBE_MANY_MAX;
}

int djk_attach_many(void __user *argument, bool addresses)
{
	struct many many = { .addresses = addresses };
	struct djprobe_attach_many *const wanted = &many.wanted;
	u32 i;
	int result = djk_read_grown_struct(wanted, offsetof(struct djprobe_attach_many, actions),
					   sizeof(*wanted), argument);

	if (result)
		return result;
	if (!are_in_order(wanted))
		return -EINVAL;
	many.sites =
		vmemdup_user(u64_to_user_ptr(wanted->sites), wanted->count * sizeof(*many.sites));
	if (IS_ERR(many.sites))
		return PTR_ERR(many.sites);
	many.actions = djk_read_actions(u64_to_user_ptr(wanted->actions), wanted->action_count);
	result = PTR_ERR_OR_ZERO(many.actions);
	if (result)
		goto free_sites;
	result = -EINVAL;
	if (wanted->times_fd && !djk_has_timer(many.actions))
		goto free_actions;
	/* What ends such a probe is its count. */
	result = -EINVAL;
	if (wanted->flags & DJPROBE_ATTACH_ONCE && many.actions &&
	    !djk_counting_action(many.actions))
		goto free_actions;
	result = -ENOMEM;
	many.asked = kvcalloc(wanted->count, sizeof(*many.asked), GFP_KERNEL_ACCOUNT);
	if (!many.asked)
		goto free_actions;
	result = read_sites(&many);
	if (!result)
		result = attach_and_tell(&many, argument);
	for (i = 0; i < wanted->count; i++)
		kfree(many.asked[i].symbol);
	kvfree(many.asked);
free_actions:
	djk_actions_put(many.actions);
free_sites:
	kvfree(many.sites);
	return result;
}
