// SPDX-License-Identifier: GPL-2.0
/* The switches for all probes. debugfs has them too, but lockdown closes it. */
#include "switch.h"

#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "../../../uapi/djprobe.h"
#include "abi.h"
#include "../kernel.h"

/* One task at a time sets a switch: each walks over all sites. */
static DEFINE_MUTEX(switching);

static bool set_enabled(bool enabled)
{
	djp_set_enabled(enabled);
	return true;
}

static int set(bool (*set)(bool on), bool on)
{
	bool enough;

	if (on && !djk_may_touch_text())
		return -EPERM;
	if (mutex_lock_killable(&switching))
		return -EINTR;
	enough = set(on);
	mutex_unlock(&switching);
	return enough ? 0 : -ENOMEM;
}

int djk_set_enabled(bool enabled)
{
	return set(set_enabled, enabled);
}

int djk_set_optimization(bool optimization)
{
	return set(djp_set_optimization, optimization);
}

/* Switch on what `on` names: jumps before probes, which then need not be patched twice. */
static int switch_on(u32 on)
{
	int error = 0;

	if (on & DJPROBE_SWITCH_JUMPS)
		error = djk_set_optimization(true);
	if (!error && on & DJPROBE_SWITCH_PROBES)
		error = djk_set_enabled(true);
	return error;
}

static int switch_off(u32 off)
{
	int error = 0;

	if (off & DJPROBE_SWITCH_PROBES)
		error = djk_set_enabled(false);
	if (!error && off & DJPROBE_SWITCH_JUMPS)
		error = djk_set_optimization(false);
	return error;
}

int djk_switch(void __user *argument)
{
	const u32 known = DJPROBE_SWITCH_PROBES | DJPROBE_SWITCH_JUMPS;
	struct djprobe_switch wanted;
	u32 on;
	int failed, error = djk_read_struct(&wanted, sizeof(wanted), argument);

	if (error)
		return error;
	on = wanted.on;
	if (wanted.change & ~known || on & ~wanted.change)
		return -EINVAL;
	/* Every task that may probe may see how they stand. */
	if (wanted.change && !djk_may_switch())
		return -EPERM;
	/* Off comes first, whatever becomes of the rest. */
	error = switch_off(wanted.change & ~on);
	/* -EINTR: the caller is being killed. -ENOMEM: jumps stay on. */
	if (error)
		return error;
	failed = switch_on(on);
	wanted.reason = failed == -EPERM ? DJPROBE_REASON_LOCKDOWN : DJPROBE_REASON_NONE;
	wanted.on = (djp_is_enabled() ? DJPROBE_SWITCH_PROBES : 0) |
		    (djp_is_optimization_on() ? DJPROBE_SWITCH_JUMPS : 0);
	error = djk_write_struct(argument, &wanted, sizeof(wanted));
	return error ? error : failed;
}
