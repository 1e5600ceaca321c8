// SPDX-License-Identifier: GPL-2.0
/* What all ioctls of uapi/djprobe.h have in common. The policy's reasons become an errno here. */
#include "abi.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/security.h>
#include <linux/uaccess.h>

#include "../../../uapi/djprobe.h"
#include "../kernel/imports.h"

bool djk_may_probe(void)
{
	/* What the kernel asks for a BPF program, and for the kprobe that runs it. */
	return perfmon_capable() && (capable(CAP_BPF) || capable(CAP_SYS_ADMIN));
}

bool djk_may_switch(void)
{
	return capable(CAP_SYS_ADMIN);
}

bool djk_may_see_addresses(const struct file *file)
{
	return djk_bool(djk_call1(kallsyms_show_value, current_cred())) &&
	       djk_bool(djk_call1(kallsyms_show_value, file->f_cred));
}

bool djk_may_touch_text(void)
{
	return !security_locked_down(LOCKDOWN_KPROBES);
}

int djk_errno_of(unsigned int reason)
{
	switch (reason) {
	case DJPROBE_REASON_NO_SUCH_SYMBOL:
		return -ENOENT;
	case DJPROBE_REASON_AMBIGUOUS_SYMBOL:
		return -ENOTUNIQ;
	case DJPROBE_REASON_PAST_END:
	case DJPROBE_REASON_NO_COUNTER:
	case DJPROBE_REASON_ODD_COUNTER:
		return -ERANGE;
	case DJPROBE_REASON_NOT_BOUNDARY:
	case DJPROBE_REASON_UNDECODABLE:
		return -EILSEQ;
	case DJPROBE_REASON_FOREIGN_PATCH:
	case DJPROBE_REASON_OVERLAP:
	case DJPROBE_REASON_PROG_EXTENDED:
	case DJPROBE_REASON_MODULE_LEAVING:
		return -EBUSY;
	case DJPROBE_REASON_PROG_FD:
	case DJPROBE_REASON_NO_MAP:
		return -EBADF;
	case DJPROBE_REASON_PROG_TYPE:
	case DJPROBE_REASON_PROG_SLEEPABLE:
	case DJPROBE_REASON_PROG_OVERRIDE:
	case DJPROBE_REASON_PROG_ATTACH_TYPE:
	case DJPROBE_REASON_PROG_WRITES:
	case DJPROBE_REASON_NO_SHADOW:
	case DJPROBE_REASON_MAP_KIND:
		return -EOPNOTSUPP;
	case DJPROBE_REASON_NO_ACTION:
		return -EINVAL;
	case DJPROBE_REASON_NO_MEMORY:
	case DJPROBE_REASON_NO_INDEX:
		return -ENOMEM;
	case DJPROBE_REASON_INTERRUPTED:
		return -EINTR;
	case DJPROBE_REASON_LOCKDOWN:
	case DJPROBE_REASON_ADDRESSES_HIDDEN:
		return -EPERM;
	default:
		return -EACCES;
	}
}

const char *djk_reason_name(unsigned int reason)
{
	switch (reason) {
#define REASON_NAME(number, NAME, name, text, detail)                                              \
	case number:                                                                               \
		return name;
		DJPROBE_REASONS(REASON_NAME)
#undef REASON_NAME
	}
	return "?";
}

int djk_read_grown_struct(void *to, size_t first, size_t known, const void __user *from)
{
	u32 size;
	int error;

	if (get_user(size, (const u32 __user *)from))
		return -EFAULT;
	if (size < first || size > PAGE_SIZE)
		return size < first ? -EINVAL : -E2BIG;
	error = copy_struct_from_user(to, known, from, size);
	/* The caller may have changed its struct since: keep the size that was checked. */
	*(u32 *)to = size;
	return error;
}

int djk_read_struct(void *to, size_t known, const void __user *from)
{
	return djk_read_grown_struct(to, known, known, from);
}

int djk_write_struct(void __user *to, const void *from, size_t known)
{
	const u32 size = *(const u32 *)from;

	return copy_to_user(to, from, size < known ? size : known) ? -EFAULT : 0;
}
