/* SPDX-License-Identifier: GPL-2.0 */
/* To which text an address belongs. In any context. */
#ifndef DJPROBE_KMOD_TEXT_OF_H
#define DJPROBE_KMOD_TEXT_OF_H

#include <linux/types.h>

#include "imports.h"

struct module;

/* The module that holds the address. The caller has disabled preemption, which keeps the module
 * from being freed. NULL: the address is in the core kernel, or in no text. */
static inline struct module *djk_text_module(unsigned long address)
{
	return (struct module *)djk_call1(__module_text_address, address);
}

static inline bool djk_is_core_text(unsigned long address)
{
	return djk_int(djk_call1(core_kernel_text, address));
}

static inline bool djk_is_init_text(unsigned long address)
{
	return address >= djk_imports._sinittext && address < djk_imports._einittext;
}

#endif
