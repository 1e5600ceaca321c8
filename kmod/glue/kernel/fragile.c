// SPDX-License-Identifier: GPL-2.0
/* Code that must not be probed although the kernel does not say so: kmod/facts/fragile_text.h. */
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sort.h>

#include "fragile.h"
#include "../kernel.h"

/* In their order, none touches the next. */
static const struct djk_extent *fragile;
static size_t fragile_count;

static int compare_begins(const void *left, const void *right)
{
	const struct djk_extent *const first = left, *const second = right;

	return first->begin < second->begin ? -1 : first->begin > second->begin;
}

void djk_set_fragile(struct djk_extent *ranges, size_t count)
{
	size_t used = 0, i;

	sort(ranges, count, sizeof(*ranges), compare_begins, NULL);
	for (i = 0; i < count; i++) {
		if (used && ranges[i].begin <= ranges[used - 1].end)
			ranges[used - 1].end = max(ranges[used - 1].end, ranges[i].end);
		else
			ranges[used++] = ranges[i];
	}
	fragile = ranges;
	fragile_count = used;
}

bool djk_is_fragile(unsigned long address)
{
	size_t first = 0, behind = fragile_count;

	/* Behind which of them the address lies. */
	while (first < behind) {
		const size_t middle = (first + behind) / 2;

		if (fragile[middle].begin <= address)
			first = middle + 1;
		else
			behind = middle;
	}
	return first && address < fragile[first - 1].end;
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
