// SPDX-License-Identifier: GPL-2.0
/* Loading and unloading: each part started once, stopped in reverse. */
#include <linux/module.h>

#include "abi.h"
#include "debugfs.h"
#include "device.h"
#include "hit.h"
#include "imports.h"
#include "kernel.h"
#include "runtime.h"
#include "shadow.h"

static int start_policy(void)
{
	const int reason = djp_start();

	if (!reason)
		return 0;
	if (reason == DJPROBE_REASON_NO_MEMORY) {
		pr_err("out of memory\n");
		return -ENOMEM;
	}
	/* Which has been named. */
	if (reason != DJPROBE_REASON_NO_SUCH_SYMBOL)
		pr_err("cannot tell which code must not be probed (%s): no site would be safe\n",
		       djk_reason_name(reason));
	return -EOPNOTSUPP;
}

static int __init djprobe_init(void)
{
	int error = djk_resolve_imports();

	if (error)
		return error;
	error = djk_shadow_init();
	if (error)
		return error;
	error = start_policy();
	if (error)
		goto exit_shadow;
	error = djk_runtime_start();
	if (error)
		goto stop_policy;
	djk_hit_start();
	error = djk_device_start();
	if (error)
		goto stop_hit;
	djk_debugfs_start();
	return 0;

stop_hit:
	djk_hit_stop();
	djk_runtime_stop();
stop_policy:
	djp_stop();
exit_shadow:
	djk_shadow_exit();
	return error;
}

static void __exit djprobe_exit(void)
{
	djk_debugfs_stop();
	djk_device_stop();
	djk_hit_stop();
	djk_runtime_stop();
	djp_stop();
	/* What the last probes left has been freed. */
	djk_shadow_exit();
}

module_init(djprobe_init);
module_exit(djprobe_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(DJPROBE_VERSION);
MODULE_DESCRIPTION("Kernel probes by jump, with BPF programs as handlers");
