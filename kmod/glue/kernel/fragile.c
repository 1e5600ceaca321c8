// SPDX-License-Identifier: GPL-2.0
/* Code that must not be probed although the kernel does not say so: kmod/facts/fragile_text.h. */
#include <linux/printk.h>

#include "fragile.h"
#include "../kernel.h"

static const struct djk_extent *fragile;
static size_t fragile_count;

void djk_set_fragile(const struct djk_extent *ranges, size_t count)
{
	fragile = ranges;
	fragile_count = count;
}

bool djk_is_fragile(unsigned long address)
{
	size_t i;

	for (i = 0; i < fragile_count; i++)
		if (address >= fragile[i].begin && address < fragile[i].end)
			return true;
	return false;
}

void djk_lacks(const char *name, const char *of)
{
	pr_err("this kernel has no %s%s%s%s: what must not be probed is not known here\n", name,
	       *of ? " (" : "", of, *of ? ")" : "");
}

void djk_lacks_call(const char *name, const char *const callees[2])
{
	pr_err("%s calls neither %s nor %s in this kernel: what must not be probed is not known "
	       "here\n",
	       name, callees[0], callees[1]);
}
