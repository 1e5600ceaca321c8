/* SPDX-License-Identifier: GPL-2.0 */
/* Whose text an address is. */
#ifndef DJPROBE_KMOD_TEXT_OF_H
#define DJPROBE_KMOD_TEXT_OF_H

#include <linux/types.h>

#include "imports.h"

struct module;

/* The caller has disabled preemption, which is what keeps the module there. NULL: the kernel's own,
 * or no text. */
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
