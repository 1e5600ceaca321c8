// SPDX-License-Identifier: GPL-2.0
/* The ioctls of the probe fd. */
#include "probe_file.h"

#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kallsyms.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../../../uapi/djprobe.h"
#include "abi.h"
#include "../hit/make_handler.h"
#include "../kernel.h"
#include "kernel_file.h"
#include "request.h"
#include "../kernel/runtime.h"

/* The most probes that one answer describes under the registry lock at a time. */
#define PORTION 16

/* What the module may tell a caller about text. */
struct sight {
	bool addresses;
	bool bytes; /* which may hold addresses */
};

static struct sight sight_of(const struct file *file)
{
	const bool addresses = djk_may_see_addresses(file);
	const struct sight sight = { addresses, addresses && djk_may_touch_text() };

	return sight;
}

static void fill_query(struct djprobe_query *answer, const struct djp_status *status,
		       struct sight sight)
{
	int i;

	BUILD_BUG_ON(sizeof(answer->displaced) != sizeof(status->displaced));
	answer->state = status->state;
	answer->flags = (status->at_return ? DJPROBE_ATTACH_RETURN : 0) |
			(status->shadow ? DJPROBE_ATTACH_SHADOW : 0) |
			(status->counts ? DJPROBE_ATTACH_COUNT : 0) |
			(status->once ? DJPROBE_ATTACH_ONCE : 0) |
			(status->filtered ? DJPROBE_ATTACH_FILTERED : 0);
	answer->mechanism = status->mechanism;
	answer->reason = status->reason;
	answer->cookie = status->cookie;
	answer->hits = status->hits;
	for (i = 0; i < DJPROBE_MISS_MAX; i++)
		answer->missed[i] = status->missed[i];
	answer->tactic = status->tactic;
	answer->displaced_len = status->displaced_len;
	if (sight.bytes)
		memcpy(answer->displaced, status->displaced, sizeof(answer->displaced));
	if (!sight.addresses)
		return;
	answer->address = status->address;
	answer->anchor = status->anchor;
	for (i = 0; i < 2; i++)
		answer->detail[i] = status->detail[i];
}

static void fill_names(struct djprobe_query *answer, const struct djp_status *status)
{
	unsigned long offset;

	BUILD_BUG_ON(sizeof(answer->symbol) < KSYM_NAME_LEN);
	BUILD_BUG_ON(sizeof(answer->module) < MODULE_NAME_LEN);
	/* Another module's text may be there by now. */
	if (status->state == DJPROBE_STATE_GONE)
		return;
	djk_symbol_name(status->address, answer->symbol, answer->module, &offset);
	answer->offset = offset;
}

static int query(const struct djk_group *group, void __user *argument, struct sight sight)
{
	struct djp_status status = {};
	struct djprobe_query *answer;
	u32 size, index;
	int error;

	answer = kzalloc(sizeof(*answer), GFP_KERNEL);
	if (!answer)
		return -ENOMEM;
	error = djk_read_struct(answer, sizeof(*answer), argument);
	if (!error && answer->flags)
		error = -EINVAL;
	if (!error && answer->index >= group->count)
		error = -ERANGE;
	if (error)
		goto out;
	size = answer->size;
	index = answer->index;
	memset(answer, 0, sizeof(*answer));
	answer->size = size;
	answer->index = index;
	djp_query(&group->probes[index], 1, &status);
	fill_query(answer, &status, sight);
	fill_names(answer, &status);
	error = djk_write_struct(argument, answer, sizeof(*answer));
out:
	kfree(answer);
	return error;
}

/* Write some probes' answers, one behind the other. Behind the last one the caller has room for the
 * rest of the struct. */
static void fill_portion(u8 *answers, struct djp_probe *const *probes,
			 const struct djprobe_query_many *wanted, u32 first, u32 count,
			 struct djp_status *statuses, struct sight sight)
{
	struct djprobe_query *answer;
	u32 i;

	djp_query(probes + first, count, statuses);
	for (i = 0; i < count; i++) {
		answer = (struct djprobe_query *)(answers + i * wanted->entry_size);
		memset(answer, 0, sizeof(*answer));
		answer->size = wanted->entry_size;
		answer->index = first + i;
		fill_query(answer, &statuses[i], sight);
		if (wanted->entry_size > offsetof(struct djprobe_query, symbol))
			fill_names(answer, &statuses[i]);
	}
}

static int query_many(const struct djk_group *group, void __user *argument, struct sight sight)
{
	struct djprobe_query_many wanted;
	struct djp_status *statuses;
	u8 __user *to;
	u32 done, count;
	u8 *answers;
	int error = djk_read_struct(&wanted, sizeof(wanted), argument);

	if (error)
		return error;
	if (!wanted.count || !wanted.entry_size || wanted.entry_size % 8 ||
	    wanted.entry_size > sizeof(struct djprobe_query))
		return -EINVAL;
	if (wanted.first >= group->count)
		return -ERANGE;
	wanted.count = min_t(size_t, wanted.count, group->count - wanted.first);
	statuses = kmalloc_array(PORTION, sizeof(*statuses), GFP_KERNEL);
	answers = kvmalloc((PORTION - 1) * wanted.entry_size + sizeof(struct djprobe_query),
			   GFP_KERNEL);
	if (!statuses || !answers)
		error = -ENOMEM;
	to = u64_to_user_ptr(wanted.queries);
	for (done = 0; done < wanted.count && !error; done += count) {
		count = min_t(u32, PORTION, wanted.count - done);
		fill_portion(answers, group->probes, &wanted, wanted.first + done, count, statuses,
			     sight);
		if (copy_to_user(to + (size_t)done * wanted.entry_size, answers,
				 (size_t)count * wanted.entry_size))
			error = -EFAULT;
		cond_resched();
	}
	kfree(statuses);
	kvfree(answers);
	return error ? error : djk_write_struct(argument, &wanted, sizeof(wanted));
}

static int wait(const struct djk_group *group)
{
	int error = 0;
	size_t i;

	for (i = 0; i < group->count && !error; i++)
		error = djk_wait_settled(group->probes[i]);
	return error;
}

static int enable(struct djk_group *group, void __user *argument, bool addresses)
{
	struct djprobe_enable wanted;
	struct djp_request refused = {};
	size_t enabled = group->count;
	int error = djk_read_struct(&wanted, sizeof(wanted), argument);

	if (!error && wanted.enable > 1)
		error = -EINVAL;
	if (!error)
		error = mutex_lock_killable(&group->switching);
	if (error)
		return error;
	if (wanted.enable && group->let_go) {
		mutex_unlock(&group->switching);
		return -ENXIO;
	}
	/* Taking away is always allowed. */
	if (!wanted.enable)
		djp_disable(group->probes, group->count);
	else if (djk_may_touch_text())
		enabled = djp_enable(group->probes, group->count, &refused);
	else
		refused.reason = DJPROBE_REASON_LOCKDOWN;
	mutex_unlock(&group->switching);
	wanted.failed = enabled;
	djk_hide_addresses(&refused, 1, addresses);
	djk_write_reason(&refused, &wanted.reason, wanted.detail);
	error = djk_write_struct(argument, &wanted, sizeof(wanted));
	if (error)
		return error;
	return refused.reason ? djk_errno_of(refused.reason) : 0;
}

static int total(const struct djk_group *group, void __user *argument)
{
	struct djprobe_total answer;
	u32 size;
	size_t i;
	int kind, error = djk_read_struct(&answer, sizeof(answer), argument);

	if (error)
		return error;
	size = answer.size;
	memset(&answer, 0, sizeof(answer));
	answer.size = size;
	answer.count = group->count;
	for (i = 0; i < group->count; i++) {
		struct djp_status status = {};

		djp_query(&group->probes[i], 1, &status);
		answer.hits += status.hits;
		for (kind = 0; kind < DJPROBE_MISS_MAX; kind++)
			answer.missed[kind] += status.missed[kind];
		answer.states[status.state]++;
		cond_resched();
	}
	return djk_write_struct(argument, &answer, sizeof(answer));
}

/* The kernel's file takes the place of one that is kept already. */
static int keep_kernel_file(struct djk_group *group, void __user *argument)
{
	struct djprobe_keep wanted;
	struct file *file;
	int error = djk_read_struct(&wanted, sizeof(wanted), argument);

	if (error)
		return error;
	file = djk_kernel_file(wanted.fd);
	if (IS_ERR(file))
		return PTR_ERR(file);
	mutex_lock(&group->switching);
	if (group->let_go)
		error = -ENXIO;
	else
		swap(file, group->kept);
	mutex_unlock(&group->switching);
	if (file)
		fput(file);
	return error;
}

long djk_group_ioctl(struct djk_group *group, const struct file *file, unsigned int command,
		     unsigned long argument)
{
	if (!djk_may_probe())
		return -EPERM;
	switch (command) {
	case DJPROBE_IOC_QUERY:
		return query(group, (void __user *)argument, sight_of(file));
	case DJPROBE_IOC_WAIT:
		return wait(group);
	case DJPROBE_IOC_ENABLE:
		return enable(group, (void __user *)argument, djk_may_see_addresses(file));
	case DJPROBE_IOC_TOTAL:
		return total(group, (void __user *)argument);
	case DJPROBE_IOC_QUERY_MANY:
		return query_many(group, (void __user *)argument, sight_of(file));
	case DJPROBE_IOC_KEEP:
		return keep_kernel_file(group, (void __user *)argument);
	default:
		return -ENOTTY;
	}
}

static long probe_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	return djk_group_ioctl(file->private_data, file, command, argument);
}

static __poll_t probe_poll(struct file *file, struct poll_table_struct *table)
{
	struct djk_group *group = file->private_data;

	poll_wait(file, &group->watchers, table);
	return READ_ONCE(group->let_go) ? EPOLLHUP : 0;
}

void djk_group_let_go(struct djk_group *group)
{
	struct file *kept;

	mutex_lock(&group->switching);
	djp_disable(group->probes, group->count);
	WRITE_ONCE(group->let_go, true);
	kept = group->kept;
	group->kept = NULL;
	mutex_unlock(&group->switching);
	/* A closing task ends it before it is back in user mode: its close() ends both. */
	if (kept)
		fput(kept);
	wake_up_poll(&group->watchers, EPOLLHUP);
}

static void detach(struct djk_group *group)
{
	djp_detach(group->probes, group->count);
	if (group->kept)
		fput(group->kept);
	djk_free_large(group->probes);
	kfree(group);
}

static int probe_release(struct inode *inode, struct file *file)
{
	detach(file->private_data);
	return 0;
}

void djk_group_show(const struct djk_group *group, struct seq_file *out)
{
	seq_printf(out, "attachment:\t%llu\nprobes:\t%zu\n", group->number, group->count);
	djk_handler_show(djp_handler(group->probes[0]), out);
}

static void probe_show_fdinfo(struct seq_file *out, struct file *file)
{
	djk_group_show(file->private_data, out);
}

static const struct file_operations probe_operations = {
	.owner = THIS_MODULE,
	.release = probe_release,
	.poll = probe_poll,
	.show_fdinfo = probe_show_fdinfo,
	.unlocked_ioctl = probe_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

struct djk_group *djk_group_of(const struct file *file)
{
	return file->f_op == &probe_operations ? file->private_data : NULL;
}

struct file *djk_probe_file(struct djk_group *group)
{
	static atomic64_t last = ATOMIC64_INIT(0);
	struct file *file;

	mutex_init(&group->switching);
	init_waitqueue_head(&group->watchers);
	group->number = atomic64_inc_return(&last);
	file = anon_inode_getfile("[djprobe]", &probe_operations, group, O_RDONLY | O_CLOEXEC);

	if (IS_ERR(file))
		detach(group);
	return file;
}
