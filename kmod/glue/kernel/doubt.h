/* SPDX-License-Identifier: GPL-2.0 */
/* Why the module cannot rely on something in this kernel. */
#ifndef DJPROBE_KMOD_DOUBT_H
#define DJPROBE_KMOD_DOUBT_H

#include <linux/compiler_attributes.h>

/* Room for the reason why an assumption does not hold, and what to do. */
struct djk_doubt {
	char text[200];
};
__printf(2, 3) void djk_doubt(struct djk_doubt *doubt, const char *format, ...);

#endif
