// SPDX-License-Identifier: GPL-2.0
/* Loading and unloading: each part starts once, and stops in the reverse order. */
#include <linux/module.h>
#include <linux/utsname.h>

#include "../../../uapi/djprobe_tested.h"
#include "assume.h"
#include "../ioctl/debugfs.h"
#include "../ioctl/device.h"
#include "../hit/helpers.h"
#include "../hit/hit.h"
#include "../kernel.h"
#include "../kprobes/kprobe_view.h"
#include "../kernel/ksym.h"
#include "../kernel/memory.h"
#include "../kernel/runtime.h"
#include "../hit/shadow.h"

static int __init djprobe_init(void)
{
	int error = djk_assume(DJK_BEFORE_ALL);

	if (error)
		return error;
	djk_helpers_init();
	error = djk_memory_start();
	if (error)
		return error;
	error = djk_ksym_start();
	if (error)
		goto stop_memory;
	error = djk_assume(DJK_WITH_KPROBES);
	if (error)
		goto stop_ksym;
	error = djk_shadow_init();
	if (error)
		goto stop_view;
	djk_hit_start();
	error = djk_assume(DJK_WITH_POLICY);
	if (error)
		goto stop_hit;
	error = djk_assume(DJK_AFTER_START);
	if (error)
		goto stop_policy;
	error = djk_runtime_start();
	if (error)
		goto stop_policy;
	error = djk_device_start();
	if (error)
		goto stop_runtime;
	djk_debugfs_start();
	if (!djprobe_is_tested(init_utsname()->release))
		pr_notice("%s is none of the kernels that djprobe's tests have run on\n",
			  init_utsname()->release);
	return 0;

stop_runtime:
	djk_runtime_stop();
stop_policy:
	djp_stop();
stop_hit:
	djk_hit_stop();
	djk_shadow_exit();
stop_view:
	djk_kprobe_view_stop();
stop_ksym:
	djk_ksym_stop();
stop_memory:
	djk_memory_stop();
	return error;
}

static void __exit djprobe_exit(void)
{
	djk_debugfs_stop();
	djk_device_stop();
	djk_runtime_stop();
	djp_stop();
	/* djp_stop() has freed all handlers and detours: no shadow is left, and no int3 of ours. */
	djk_hit_stop();
	djk_shadow_exit();
	djk_kprobe_view_stop();
	djk_ksym_stop();
	djk_memory_stop();
}

module_init(djprobe_init);
module_exit(djprobe_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(DJPROBE_VERSION);
MODULE_DESCRIPTION("Kernel probes by jump, with BPF programs as handlers");
