// SPDX-License-Identifier: GPL-2.0
/* /dev/djprobe, the control fd: its permission, and the ioctls that change nothing. */
#include "device.h"

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include "../../../uapi/djprobe.h"
#include "abi.h"
#include "attach.h"
#include "event_file.h"
#include "../kernel.h"
#include "request.h"
#include "switch.h"
#include "tell_text.h"

static int info(void __user *argument)
{
	struct djprobe_info answer;
	u32 size;
	const int error = djk_read_struct(&answer, sizeof(answer), argument);

	if (error)
		return error;
	size = answer.size;
	memset(&answer, 0, sizeof(answer));
	answer.size = size;
	answer.abi_version = DJPROBE_ABI_VERSION;
	strscpy(answer.release, init_utsname()->release, sizeof(answer.release));
	return djk_write_struct(argument, &answer, sizeof(answer));
}

static int explain(void __user *argument, bool addresses)
{
	struct djprobe_explain answer;
	struct djp_request request = {};
	struct djp_verdict verdict = {};
	bool located = false;
	int error;

	BUILD_BUG_ON(sizeof(answer.region) != sizeof(verdict.region));
	error = djk_read_struct(&answer, sizeof(answer), argument);
	if (!error && (!djk_are_site_flags(answer.flags, answer.offset) || answer.reserved))
		error = -EINVAL;
	if (!error)
		error = djk_read_site(&request, answer.symbol, answer.offset, answer.address);
	if (error)
		return error;
	request.where = djk_where(answer.flags);
	if (!djk_may_touch_text())
		request.reason = DJPROBE_REASON_LOCKDOWN;
	else if (djk_may_name(&request, addresses))
		located = djp_explain(&request, &verdict);
	kfree(request.symbol);
	djk_hide_addresses(&request, 1, addresses);
	if (!addresses) {
		/* Displaced instructions may hold addresses, too. */
		verdict.anchor = verdict.board = 0;
		memset(verdict.region, 0, sizeof(verdict.region));
	}
	answer.address = request.address;
	answer.verdict = verdict.verdict;
	djk_write_reason(&request, &answer.reason, answer.detail);
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

static long control_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	if (!djk_may_probe())
		return -EPERM;
	switch (command) {
	case DJPROBE_IOC_INFO:
		return info((void __user *)argument);
	case DJPROBE_IOC_EXPLAIN:
		return explain((void __user *)argument, djk_may_see_addresses(file));
	case DJPROBE_IOC_ATTACH:
		return djk_attach((void __user *)argument, djk_may_see_addresses(file));
	case DJPROBE_IOC_ATTACH_MANY:
		return djk_attach_many((void __user *)argument, djk_may_see_addresses(file));
	case DJPROBE_IOC_SWITCH:
		return djk_switch((void __user *)argument);
	case DJPROBE_IOC_EVENT:
		return djk_event(argument);
	case DJPROBE_IOC_TEXT:
		return djk_tell_text((void __user *)argument, djk_may_see_addresses(file));
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
