// SPDX-License-Identifier: GPL-2.0
/* The ioctl ABI of uapi/djprobe.h. errno is made here, from the policy's reasons. */
#include "device.h"

#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kallsyms.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>

#include "../../uapi/djprobe.h"
#include "kernel.h"
#include "runtime.h"

/* "MODULE:NAME" with its end. */
#define SYMBOL_ROOM (MODULE_NAME_LEN + KSYM_NAME_LEN)

static bool may_probe(void)
{
	return capable(CAP_SYS_ADMIN) && bpf_capable() && perfmon_capable();
}

static int errno_of(unsigned int reason)
{
	switch (reason) {
	case DJPROBE_REASON_NO_SUCH_SYMBOL:
		return -ENOENT;
	case DJPROBE_REASON_AMBIGUOUS_SYMBOL:
		return -ENOTUNIQ;
	case DJPROBE_REASON_PAST_END:
		return -ERANGE;
	case DJPROBE_REASON_NOT_BOUNDARY:
	case DJPROBE_REASON_UNDECODABLE:
		return -EILSEQ;
	case DJPROBE_REASON_FOREIGN_PATCH:
	case DJPROBE_REASON_OVERLAP:
	case DJPROBE_REASON_MODULE_LEAVING:
		return -EBUSY;
	case DJPROBE_REASON_PROG_FD:
		return -EBADF;
	case DJPROBE_REASON_PROG_TYPE:
	case DJPROBE_REASON_PROG_SLEEPABLE:
	case DJPROBE_REASON_PROG_OVERRIDE:
	case DJPROBE_REASON_PROG_ATTACH_TYPE:
		return -EOPNOTSUPP;
	case DJPROBE_REASON_NO_MEMORY:
	case DJPROBE_REASON_NO_INDEX:
		return -ENOMEM;
	case DJPROBE_REASON_LOCKDOWN:
		return -EPERM;
	default:
		return -EACCES;
	}
}

/* Read a struct that begins with its size, by the extension rule of the ABI. */
static int read_struct(void *to, size_t known, const void __user *from, u32 *size)
{
	if (get_user(*size, (const u32 __user *)from))
		return -EFAULT;
	/* Version 1 published all of `known`; a shorter one has never existed. */
	if (*size < known || *size > PAGE_SIZE)
		return *size < known ? -EINVAL : -E2BIG;
	return copy_struct_from_user(to, known, from, *size);
}

static int write_struct(void __user *to, const void *from, size_t known)
{
	return copy_to_user(to, from, known) ? -EFAULT : 0;
}

/* ---- Probe fd ---- */

static int query(const struct djp_probe *probe, void __user *argument)
{
	struct djp_status status = {};
	struct djprobe_query *answer;
	unsigned long offset;
	u32 size;
	int error, i;

	BUILD_BUG_ON(sizeof(answer->symbol) < KSYM_NAME_LEN);
	BUILD_BUG_ON(sizeof(answer->module) < MODULE_NAME_LEN);
	BUILD_BUG_ON(sizeof(answer->displaced) != sizeof(status.displaced));
	answer = kzalloc(sizeof(*answer), GFP_KERNEL);
	if (!answer)
		return -ENOMEM;
	error = read_struct(answer, sizeof(*answer), argument, &size);
	if (error)
		goto out;
	memset(answer, 0, sizeof(*answer));
	djp_query(probe, &status);
	answer->size = size;
	answer->state = status.state;
	answer->mechanism = status.mechanism;
	answer->reason = status.reason;
	answer->address = status.address;
	answer->cookie = status.cookie;
	answer->hits = status.hits;
	for (i = 0; i < DJPROBE_MISS_MAX; i++)
		answer->missed[i] = status.missed[i];
	for (i = 0; i < 2; i++)
		answer->detail[i] = status.detail[i];
	answer->tactic = status.tactic;
	answer->anchor = status.anchor;
	answer->displaced_len = status.displaced_len;
	memcpy(answer->displaced, status.displaced, sizeof(answer->displaced));
	djk_symbol_name(status.address, answer->symbol, answer->module, &offset);
	answer->offset = offset;
	error = write_struct(argument, answer, sizeof(*answer));
out:
	kfree(answer);
	return error;
}

static long probe_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	const struct djp_probe *probe = file->private_data;

	if (!may_probe())
		return -EPERM;
	switch (command) {
	case DJPROBE_IOC_QUERY:
		return query(probe, (void __user *)argument);
	case DJPROBE_IOC_WAIT:
		return djk_wait_settled(probe);
	default:
		return -ENOTTY;
	}
}

static int probe_release(struct inode *inode, struct file *file)
{
	djp_detach(file->private_data);
	return 0;
}

static const struct file_operations probe_operations = {
	.owner = THIS_MODULE,
	.release = probe_release,
	.unlocked_ioctl = probe_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/* ---- Control fd ---- */

static int info(void __user *argument)
{
	struct djprobe_info answer;
	u32 size;
	const int error = read_struct(&answer, sizeof(answer), argument, &size);

	if (error)
		return error;
	memset(&answer, 0, sizeof(answer));
	answer.size = size;
	answer.abi_version = DJPROBE_ABI_VERSION;
	strscpy(answer.release, init_utsname()->release, sizeof(answer.release));
	return write_struct(argument, &answer, sizeof(answer));
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
	error = read_struct(&answer, sizeof(answer), argument, &size);
	if (!error && (answer.flags || answer.reserved))
		error = -EINVAL;
	if (!error)
		error = read_site(&request, answer.symbol, answer.offset, answer.address);
	if (error)
		return error;
	located = djp_explain(&request, &verdict);
	kfree(request.symbol);
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
	error = write_struct(argument, &answer, sizeof(answer));
	if (error)
		return error;
	return located ? 0 : errno_of(request.reason);
}

/* Attach, and put a file around the probe. The file, or an errno. */
static struct file *attach_file(struct djp_request *request)
{
	struct djp_probe *probe;
	struct file *file;

	if (security_locked_down(LOCKDOWN_KPROBES)) {
		request->reason = DJPROBE_REASON_LOCKDOWN;
		return ERR_PTR(-EPERM);
	}
	probe = djp_attach(request);
	if (!probe)
		return ERR_PTR(errno_of(request->reason));
	file = anon_inode_getfile("[djprobe]", &probe_operations, probe, O_RDONLY | O_CLOEXEC);
	if (IS_ERR(file)) {
		djp_detach(probe);
		request->reason = DJPROBE_REASON_NO_MEMORY;
	}
	return file;
}

static int attach(struct djprobe_attach __user *argument)
{
	struct djprobe_attach wanted;
	struct djp_request request = {};
	struct file *file;
	u32 size;
	int fd, error;

	error = read_struct(&wanted, sizeof(wanted), argument, &size);
	if (!error && (wanted.flags || wanted.reserved || wanted.mode > DJPROBE_MODE_INT3))
		error = -EINVAL;
	if (!error)
		error = read_site(&request, wanted.symbol, wanted.offset, wanted.address);
	if (error)
		return error;
	request.cookie = wanted.cookie;
	request.prog_fd = wanted.prog_fd;
	request.int3_only = wanted.mode == DJPROBE_MODE_INT3;

	fd = get_unused_fd_flags(O_CLOEXEC);
	file = fd < 0 ? ERR_PTR(fd) : attach_file(&request);
	kfree(request.symbol);
	wanted.reason = request.reason;
	wanted.detail[0] = request.detail[0];
	wanted.detail[1] = request.detail[1];
	wanted.address = request.address;
	error = write_struct(argument, &wanted, sizeof(wanted));
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

static long control_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	if (!may_probe())
		return -EPERM;
	switch (command) {
	case DJPROBE_IOC_INFO:
		return info((void __user *)argument);
	case DJPROBE_IOC_EXPLAIN:
		return explain((void __user *)argument);
	case DJPROBE_IOC_ATTACH:
		return attach((void __user *)argument);
	default:
		return -ENOTTY;
	}
}

static int control_open(struct inode *inode, struct file *file)
{
	return may_probe() ? 0 : -EPERM;
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
