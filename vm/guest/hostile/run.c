// SPDX-License-Identifier: GPL-2.0
/*
 * Calls one of the hostile functions: write "NUMBER ARGUMENT", read what it returned. Each
 * descriptor has its own result.
 */
#include <linux/async.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/uaccess.h>

#include "functions.h"
#include "ways_out.h"

#define DECLARE(name) asmlinkage u64 hostile_##name(u64 argument);
HOSTILE_FUNCTIONS(DECLARE)
WAYS_OUT(DECLARE)

#define COUNT(name) NUMBER_##name,
enum { HOSTILE_FUNCTIONS(COUNT) };
enum { LAST_BEFORE = FIRST_WAY_OUT - 1, WAYS_OUT(COUNT) };

/* Direct calls: the functions begin with the bytes that they are about, no endbr64. */
static u64 call(unsigned int number, u64 argument)
{
	switch (number) {
#define CALL(name)                                                                                 \
	case NUMBER_##name:                                                                        \
		return hostile_##name(argument);
		HOSTILE_FUNCTIONS(CALL)
		WAYS_OUT(CALL)
	}
	return 0;
}

/* The kernel rewrites them when what they lead to changes, and BUGs on bytes that are not its own.
 */
static int hostile_nothing(void)
{
	return 0;
}
DEFINE_STATIC_CALL(hostile_led, hostile_nothing);
DEFINE_STATIC_CALL_NULL(hostile_idle, hostile_nothing);

static int hostile_open(struct inode *inode, struct file *file)
{
	file->private_data = kzalloc(sizeof(u64), GFP_KERNEL);
	return file->private_data ? 0 : -ENOMEM;
}

static int hostile_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static ssize_t hostile_write(struct file *file, const char __user *from, size_t size,
			     loff_t *position)
{
	char text[64];
	unsigned int number;
	u64 argument;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, size))
		return -EFAULT;
	text[size] = 0;
	if (sscanf(text, "%u %llu", &number, &argument) != 2)
		return -EINVAL;
	*(u64 *)file->private_data = call(number, argument);
	return size;
}

static ssize_t hostile_read(struct file *file, char __user *to, size_t size, loff_t *position)
{
	return simple_read_from_buffer(to, size, position, file->private_data, sizeof(u64));
}

static const struct file_operations hostile_operations = {
	.owner = THIS_MODULE,
	.open = hostile_open,
	.release = hostile_release,
	.write = hostile_write,
	.read = hostile_read,
};

static struct dentry *folder;

static bool late;
module_param(late, bool, 0400);

/* As a parameter's callback may, it runs when everybody has been told that the module goes. */
noinline int hostile_late(int count);
noinline int hostile_late(int count)
{
	return count > 100 ? count / 3 : count + 7;
}

static void run_late(void *data, async_cookie_t cookie)
{
	int i, sum = 0;

	for (i = 0; i < 300; i++) {
		sum += hostile_late(i + sum);
		msleep(1);
	}
	pr_info("hostile: late %d\n", sum);
}

static int __init hostile_init(void)
{
	folder = debugfs_create_dir("hostile", NULL);
	debugfs_create_file("run", 0600, folder, NULL, &hostile_operations);
	return 0;
}

static void __exit hostile_exit(void)
{
	debugfs_remove(folder);
	if (late)
		async_schedule(run_late, NULL);
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("functions that are hard to probe");
MODULE_LICENSE("GPL");
