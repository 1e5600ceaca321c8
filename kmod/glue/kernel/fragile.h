/* SPDX-License-Identifier: GPL-2.0 */
/* Code that must not be probed although the kernel does not say so. */
#ifndef DJPROBE_FRAGILE_H
#define DJPROBE_FRAGILE_H

#include <linux/types.h>

/* Whether the address lies in a range of djk_set_fragile(). In any context. */
bool djk_is_fragile(unsigned long address);

#endif
