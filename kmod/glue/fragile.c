// SPDX-License-Identifier: GPL-2.0
/* Where arch/x86/fragile_names.h lies in this kernel. */
#include <linux/cache.h>
#include <linux/kernel.h>

#include "../../arch/x86/fragile_names.h"
#include "fragile.h"
#include "imports.h"
#include "kernel.h"

/* Static functions of several files may have one name: all of them are meant. */
#define MAX_OF_A_NAME 4
static struct djk_extent ranges[ARRAY_SIZE(djprobe_fragile) * MAX_OF_A_NAME] __ro_after_init;
static size_t range_count __ro_after_init;

static void add_range(unsigned long begin, const char *to)
{
	struct djk_extent *const range = &ranges[range_count++];
	unsigned long size;

	range->begin = begin;
	range->end = *to ? djk_lookup(to) : 0;
	if (!range->end && djk_symbol_range(begin, &range->begin, &size))
		range->end = range->begin + size;
}

void djk_fragile_init(void)
{
	const struct djprobe_fragile *name;
	unsigned long all[MAX_OF_A_NAME];
	size_t i, count;

	for (name = djprobe_fragile; name < djprobe_fragile + ARRAY_SIZE(djprobe_fragile); name++) {
		count = djk_lookup_all(name->from, all, MAX_OF_A_NAME);
		/* More than fit: the load is refused, for djk_lookup() notes the name. */
		if (count > MAX_OF_A_NAME)
			djk_lookup(name->from);
		else
			for (i = 0; i < count; i++)
				add_range(all[i], name->to);
	}
}

bool djk_is_fragile(unsigned long address)
{
	size_t i;

	for (i = 0; i < range_count; i++)
		if (address >= ranges[i].begin && address < ranges[i].end)
			return true;
	return false;
}
