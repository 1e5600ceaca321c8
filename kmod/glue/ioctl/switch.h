/* SPDX-License-Identifier: GPL-2.0 */
/* The switches for all probes: whether they are in the text, and whether they may be jumps. */
#ifndef DJPROBE_KMOD_SWITCH_H
#define DJPROBE_KMOD_SWITCH_H

#include <linux/types.h>

/* 0; -EPERM: lockdown forbids to write text (only switching on is refused); -EINTR: the caller is
 * being killed while another task sets a switch. Sleep. */
int djk_set_enabled(bool enabled);
int djk_set_optimization(bool optimization);

/* DJPROBE_IOC_SWITCH. 0 or a negative errno. */
int djk_switch(void __user *argument);

#endif
