// SPDX-License-Identifier: GPL-2.0
/* The event fd: what a tool has in place of a perf event or a BPF link. The probes that it holds
 * are in the text as long as it is open. Their probe fd may stay with the loader, for the counters.
 */
#include "event_file.h"

#include <linux/anon_inodes.h>
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../../../uapi/djprobe.h"
#include "abi.h"
#include "attach.h"
#include "probe_file.h"

struct event {
	u64 number;	      /* no other event has had it */
	bool link;	      /* in place of a BPF link */
	struct mutex holding; /* guards the change of `held` */
	struct file *held;    /* a probe fd's, from DJPROBE_IOC_HOLD on; or NULL */
};

static struct djk_group *held_group(const struct event *event)
{
	const struct file *held = smp_load_acquire(&event->held);

	return held ? djk_group_of(held) : NULL;
}

/* Keep the file, unless the event has one or another event has had this one. */
static int keep_file(struct event *event, struct file *file)
{
	struct djk_group *const group = djk_group_of(file);
	int error = -EBUSY;

	if (!group)
		return -EBADF;
	mutex_lock(&event->holding);
	if (!event->held && !test_and_set_bit(0, &group->held)) {
		smp_store_release(&event->held, file);
		error = 0;
	}
	mutex_unlock(&event->holding);
	return error;
}

static int hold(struct event *event, void __user *argument)
{
	struct djprobe_hold wanted;
	struct file *file;
	int error = djk_read_struct(&wanted, sizeof(wanted), argument);

	if (error)
		return error;
	/* A probe file holds a file of the kernel's at most, so this makes no cycle. */
	file = fget(wanted.probe_fd);
	if (!file)
		return -EBADF;
	error = keep_file(event, file);
	if (error)
		fput(file);
	return error;
}

static long perf_ioctl(const struct event *event, unsigned int command, unsigned long argument)
{
	switch (command) {
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
	case PERF_EVENT_IOC_RESET:
		/* The kernel runs the program of a kprobe's event whatever state the event is in.
		 */
		return 0;
	case PERF_EVENT_IOC_ID:
		return put_user(event->number, (u64 __user *)argument);
	default:
		return -ENOIOCTLCMD;
	}
}

static long event_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct event *event = file->private_data;
	const long answer = event->link ? -ENOIOCTLCMD : perf_ioctl(event, command, argument);
	struct djk_group *group;

	if (answer != -ENOIOCTLCMD)
		return answer;
	if (!djk_may_probe())
		return -EPERM;
	if (command == DJPROBE_IOC_NUMBER)
		return put_user(event->number, (u64 __user *)argument);
	if (command == DJPROBE_IOC_HOLD)
		return hold(event, (void __user *)argument);
	group = held_group(event);
	return group ? djk_group_ioctl(group, file, command, argument) : -ENOTTY;
}

#ifdef CONFIG_COMPAT
/* Of PERF_EVENT_IOC_ID the number has the size of a pointer in it. */
static unsigned int native_command(unsigned int command)
{
	const unsigned int id = _IOC(_IOC_READ, _IOC_TYPE(PERF_EVENT_IOC_ID),
				     _IOC_NR(PERF_EVENT_IOC_ID), sizeof(compat_uptr_t));

	return command == id ? PERF_EVENT_IOC_ID : command;
}

static long event_compat_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	return event_ioctl(file, native_command(command), (unsigned long)compat_ptr(argument));
}
#endif

/* As a perf event whose program has it count nothing, which tools' programs do: they return 0. */
static ssize_t event_read(struct file *file, char __user *to, size_t size, loff_t *position)
{
	const struct event *event = file->private_data;
	const u64 count = 0;

	if (event->link)
		return -EINVAL;
	if (size < sizeof(count))
		return -ENOSPC;
	return copy_to_user(to, &count, sizeof(count)) ? -EFAULT : sizeof(count);
}

/* As a perf event without a buffer. */
static __poll_t event_poll(struct file *file, struct poll_table_struct *table)
{
	return EPOLLHUP;
}

static void event_show_fdinfo(struct seq_file *out, struct file *file)
{
	const struct djk_group *group = held_group(file->private_data);

	if (group)
		djk_group_show(group, out);
}

static int event_release(struct inode *inode, struct file *file)
{
	struct event *event = file->private_data;

	if (event->held) {
		djk_group_let_go(djk_group_of(event->held));
		fput(event->held);
	}
	kfree(event);
	return 0;
}

static const struct file_operations event_operations = {
	.owner = THIS_MODULE,
	.release = event_release,
	.read = event_read,
	.poll = event_poll,
	.show_fdinfo = event_show_fdinfo,
	.unlocked_ioctl = event_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = event_compat_ioctl,
#endif
};

static struct file *event_file(bool link)
{
	static atomic64_t last = ATOMIC64_INIT(0);
	struct event *event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);
	struct file *file;

	if (!event)
		return ERR_PTR(-ENOMEM);
	mutex_init(&event->holding);
	event->link = link;
	event->number = atomic64_inc_return(&last);
	file = anon_inode_getfile("[djprobe-event]", &event_operations, event, O_RDWR);
	if (IS_ERR(file))
		kfree(event);
	return file;
}

int djk_event(unsigned long kind)
{
	int fd;

	if (kind > DJPROBE_EVENT_LINK)
		return -EINVAL;
	fd = get_unused_fd_flags(O_CLOEXEC);
	return djk_install(fd, fd < 0 ? ERR_PTR(fd) : event_file(kind == DJPROBE_EVENT_LINK), 0);
}
