/* SPDX-License-Identifier: GPL-2.0 */
/* What all ioctls of uapi/djprobe.h have in common. */
#ifndef DJPROBE_KMOD_ABI_H
#define DJPROBE_KMOD_ABI_H

#include <linux/types.h>

struct file;

/* The capability that every open and every ioctl needs. */
bool djk_may_probe(void);

/*
 * Whether addresses may be told through this file: both who opened it and who calls now may see
 * them in /proc/kallsyms. So neither gets them by handing the file to the other. Ask once for a
 * request: security modules see who asks, and may be probed.
 */
bool djk_may_see_addresses(const struct file *file);

/*
 * Whether text may be written, or its bytes be told: lockdown has not forbidden kprobes. A task
 * that is refused is named in the kernel log.
 */
bool djk_may_touch_text(void);

/* The errno that the ABI promises for a reason. */
int djk_errno_of(unsigned int reason);

/* A reason's short name, as in listings. */
const char *djk_reason_name(unsigned int reason);

/* Read a struct that begins with its size, which is checked, by the extension rule of the ABI. */
int djk_read_struct(void *to, size_t known, const void __user *from);
int djk_write_struct(void __user *to, const void *from, size_t known);

#endif
