// SPDX-License-Identifier: GPL-2.0
/* What runs on every int3 before us. */
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../../arch/x86/trap_names.h"
#include "imports.h"
#include "kernel.h"

size_t djk_trap_roots(unsigned long *addresses, size_t max)
{
	size_t count, i;

	if (max < ARRAY_SIZE(djprobe_trap_roots) + ARRAY_SIZE(djprobe_trap_tracers))
		return 0;
	for (count = 0; count < ARRAY_SIZE(djprobe_trap_roots); count++) {
		addresses[count] = djk_lookup(djprobe_trap_roots[count]);
		if (!addresses[count]) {
			pr_err("this kernel has no %s: its int3 path is not known\n",
			       djprobe_trap_roots[count]);
			return 0;
		}
	}
	for (i = 0; i < ARRAY_SIZE(djprobe_trap_tracers); i++) {
		addresses[count] = djk_lookup(djprobe_trap_tracers[i]);
		count += !!addresses[count];
	}
	return count;
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

bool djk_trap_leaf(unsigned long function)
{
	char *name = kmalloc(KSYM_NAME_LEN + MODULE_NAME_LEN, GFP_KERNEL);
	unsigned long offset;
	bool leaf;

	if (!name)
		return false;
	djk_symbol_name(function, name, name + KSYM_NAME_LEN, &offset);
	leaf = is_one_of(name, djprobe_trap_leaves, ARRAY_SIZE(djprobe_trap_leaves)) ||
	       is_one_of(name, djprobe_trap_tracers, ARRAY_SIZE(djprobe_trap_tracers)) ||
	       strstr(name, DJPROBE_TRAP_LEAF_PART) || strstarts(name, DJPROBE_TRAP_LEAF_PREFIX);
	kfree(name);
	return leaf;
}
