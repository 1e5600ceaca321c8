/* SPDX-License-Identifier: GPL-2.0 */
/* Where a module's parts lie: the one place that knows how struct module says so. */
#ifndef DJPROBE_KMOD_MODULE_TEXT_H
#define DJPROBE_KMOD_MODULE_TEXT_H

#include <linux/module.h>

#include "../kernel.h"

/* The module's text. The caller keeps the module from being freed. */
static inline struct djk_extent djk_module_text(const struct module *module)
{
#ifdef DJK_HAVE_MODULE_MEMORY
	const unsigned long begin = (unsigned long)module->mem[MOD_TEXT].base;
	const unsigned long size = module->mem[MOD_TEXT].size;
#else
	const unsigned long begin = (unsigned long)module->core_layout.base;
	const unsigned long size = module->core_layout.text_size;
#endif

	return (struct djk_extent){ begin, begin + size };
}

/* The module's read-only data, without the data that becomes read-only after init. Likewise. */
static inline struct djk_extent djk_module_rodata(const struct module *module)
{
#ifdef DJK_HAVE_MODULE_MEMORY
	const unsigned long begin = (unsigned long)module->mem[MOD_RODATA].base;
	const unsigned long end = begin + module->mem[MOD_RODATA].size;
#else
	const unsigned long base = (unsigned long)module->core_layout.base;
	const unsigned long begin = base + module->core_layout.text_size;
	const unsigned long end = base + module->core_layout.ro_size;
#endif

	return (struct djk_extent){ begin, end };
}

#endif
