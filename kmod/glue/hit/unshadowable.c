// SPDX-License-Identifier: GPL-2.0
/* Functions whose return address may not be replaced. */
#include <linux/kernel.h>
#include <linux/kprobes.h>

#include "../../../uapi/djprobe.h"
#include "../../linux_names/no_return_names.h"
#include "../kernel.h"
#include "../kernel/imports.h"
#include "shadow.h"

static bool is_named(unsigned long function, const char *name)
{
	unsigned long all[16];
	size_t i, count = djk_lookup_all(name, all, ARRAY_SIZE(all));

	/* With more than fit any function may be one of them. */
	for (i = 0; i < count && i < ARRAY_SIZE(all); i++)
		if (all[i] == function)
			return true;
	return count > ARRAY_SIZE(all);
}

unsigned int djk_unshadowable(unsigned long function)
{
	/* The kernel's own list for kretprobes: who changes `current`, and with it the list of what
	 * was replaced. */
	const struct kretprobe_blackpoint *point = (void *)djk_lookup("kretprobe_blacklist");
	size_t i;

	if (!djk_shadow_is_there())
		return DJPROBE_REASON_NO_SHADOW;
	for (; point && point->name; point++)
		if (point->addr == (void *)function || is_named(function, point->name))
			return DJPROBE_REASON_SPECIAL_RETURN;
	for (i = 0; i < ARRAY_SIZE(djprobe_no_return); i++)
		if (is_named(function, djprobe_no_return[i]))
			return DJPROBE_REASON_SPECIAL_RETURN;
	return DJPROBE_REASON_NONE;
}
