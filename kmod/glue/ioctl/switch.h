/* SPDX-License-Identifier: GPL-2.0 */
/* The switches for all probes: are they in the text, and may they be jumps? */
#ifndef DJPROBE_KMOD_SWITCH_H
#define DJPROBE_KMOD_SWITCH_H

#include <linux/types.h>

/* 0; -EPERM: lockdown forbids to write text, off is always allowed; -EINTR: the caller is being
 * killed. */
int djk_set_enabled(bool enabled);
int djk_set_optimization(bool optimization);

/* DJPROBE_IOC_SWITCH; an errno. */
int djk_switch(void __user *argument);

#endif
