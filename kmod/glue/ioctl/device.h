/* SPDX-License-Identifier: GPL-2.0 */
/* /dev/djprobe, the control fd. */
#ifndef DJPROBE_KMOD_DEVICE_H
#define DJPROBE_KMOD_DEVICE_H

int djk_device_start(void);
void djk_device_stop(void);

#endif
