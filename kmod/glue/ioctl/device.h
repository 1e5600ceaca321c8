/* SPDX-License-Identifier: GPL-2.0 */
/* /dev/djprobe, the control fd. Requests come from djk_device_start() on, 0 or a negative errno. */
#ifndef DJPROBE_KMOD_DEVICE_H
#define DJPROBE_KMOD_DEVICE_H

int djk_device_start(void);
void djk_device_stop(void);

#endif
