// SPDX-License-Identifier: GPL-2.0
#include "imports.h"

#include <linux/kprobes.h>
#include <linux/printk.h>

struct djk_imports djk_imports __ro_after_init;

/*
 * kallsyms_lookup_name() is not exported, but kprobes resolves names: a kprobe
 * that is never enabled patches nothing and tells the address.
 */
static unsigned long find_kallsyms(void)
{
	struct kprobe probe = {
		.symbol_name = "kallsyms_lookup_name",
		.flags = KPROBE_FLAG_DISABLED,
	};

	if (register_kprobe(&probe))
		return 0;
	unregister_kprobe(&probe);
	return (unsigned long)probe.addr;
}

unsigned long djk_lookup(const char *name)
{
	return djk_call1(kallsyms_lookup_name, name);
}

int djk_resolve_imports(void)
{
	static const char *const names[] = {
#define DJK_IMPORT_NAME(name) #name,
		DJK_IMPORTS(DJK_IMPORT_NAME)
#undef DJK_IMPORT_NAME
	};
	/* On IBT kernels kprobes answers with the address behind endbr64; djk_call() may go there.
	 */
	const unsigned long lookup = find_kallsyms();
	unsigned long *field = (unsigned long *)&djk_imports;
	size_t i;

	if (!lookup) {
		pr_err("cannot find kernel symbols: is CONFIG_KPROBES off, or the kernel locked "
		       "down?\n");
		return -ENOENT;
	}
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		field[i] = djk_call(lookup, (unsigned long)names[i], 0, 0, 0, 0);
		if (!field[i]) {
			pr_err("this kernel has no %s: it is not supported\n", names[i]);
			return -ENOENT;
		}
	}
	return 0;
}
