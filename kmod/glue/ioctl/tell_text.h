/* SPDX-License-Identifier: GPL-2.0 */
/* The text as it is without our patches and without kprobes. */
#ifndef DJPROBE_KMOD_TELL_TEXT_H
#define DJPROBE_KMOD_TELL_TEXT_H

#include <linux/types.h>

/* DJPROBE_IOC_TEXT of a file that may tell addresses, or may not. 0 or a negative errno. Sleeps. */
int djk_tell_text(void __user *argument, bool addresses);

#endif
