// SPDX-License-Identifier: GPL-2.0
/*
 * A sample of djprobe's in-kernel API: counts how often a function is called and
 * remembers its first argument.
 *
 *   insmod djprobe_sample.ko symbol=vfs_read
 *   rmmod djprobe_sample; dmesg | tail -n 1
 */
#include <linux/module.h>

#include "djprobe_api.h"

static char *symbol = "vfs_read";
module_param(symbol, charp, 0400);
MODULE_PARM_DESC(symbol, "the function to count");

static unsigned long last_argument;

static int on_call(struct djprobe *probe, struct pt_regs *regs)
{
	WRITE_ONCE(last_argument, regs->di);
	return 0;
}

static struct djprobe probe = {
	.pre_handler = on_call,
};

static int __init sample_init(void)
{
	int error;

	probe.symbol_name = symbol;
	error = register_djprobe(&probe);
	if (error)
		pr_err("djprobe_sample: no probe at %s: error %d, reason %u\n", symbol, error,
		       probe.reason);
	return error;
}

static void __exit sample_exit(void)
{
	unsigned long hits, missed;

	djprobe_counts(&probe, &hits, &missed);
	unregister_djprobe(&probe);
	pr_info("djprobe_sample: %s was called %lu times (%lu missed), last with 0x%lx\n", symbol,
		hits, missed, last_argument);
}

module_init(sample_init);
module_exit(sample_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A sample of djprobe's in-kernel API");
