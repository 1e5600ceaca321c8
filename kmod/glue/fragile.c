// SPDX-License-Identifier: GPL-2.0
/* Where arch/x86/fragile_names.h lies in this kernel. */
#include <linux/cache.h>
#include <linux/kernel.h>

#include "../../arch/x86/fragile_names.h"
#include "fragile.h"
#include "imports.h"
#include "kernel.h"

static struct djk_extent ranges[ARRAY_SIZE(djprobe_fragile)] __ro_after_init;
static size_t range_count __ro_after_init;

void djk_fragile_init(void)
{
	const struct djprobe_fragile *name;
	struct djk_extent *range;
	unsigned long size;

	for (name = djprobe_fragile; name < djprobe_fragile + ARRAY_SIZE(djprobe_fragile); name++) {
		range = &ranges[range_count];
		range->begin = djk_lookup(name->from);
		if (!range->begin)
			continue;
		range->end = *name->to ? djk_lookup(name->to) : 0;
		if (!range->end && djk_symbol_range(range->begin, &range->begin, &size))
			range->end = range->begin + size;
		range_count++;
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
