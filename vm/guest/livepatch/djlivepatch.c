// SPDX-License-Identifier: GPL-2.0
/* Patches the kernel's function behind /proc/cmdline, as long as it is loaded and enabled. */
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/seq_file.h>

static int patched_cmdline_proc_show(struct seq_file *file, void *unused)
{
	seq_puts(file, "livepatched\n");
	return 0;
}

static struct klp_func functions[] = { {
					       .old_name = "cmdline_proc_show",
					       .new_func = patched_cmdline_proc_show,
				       },
				       {} };

static struct klp_object objects[] = { {
					       /* no name: vmlinux */
					       .funcs = functions,
				       },
				       {} };

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objects,
};

static int __init start(void)
{
	return klp_enable_patch(&patch);
}

static void __exit stop(void)
{
}

module_init(start);
module_exit(stop);
MODULE_DESCRIPTION("A live patch for djprobe's tests");
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
