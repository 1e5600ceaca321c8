/* SPDX-License-Identifier: GPL-2.0 */
/* What all ioctls of uapi/djprobe.h have in common. */
#ifndef DJPROBE_KMOD_ABI_H
#define DJPROBE_KMOD_ABI_H

#include <linux/types.h>

struct file;

/* Whether the calling task has the capabilities that every open and every ioctl needs. */
bool djk_may_probe(void);

/* Whether it may switch the probes of others off and on. */
bool djk_may_switch(void);

/*
 * Whether this file may tell addresses: both the task that opened it and the calling task may see
 * them in /proc/kallsyms. So neither gets them by handing the file to the other. Ask once for each
 * request: the answer runs code of security modules, which may be probed.
 */
bool djk_may_see_addresses(const struct file *file);

/*
 * Whether text may be written, or its bytes be told: lockdown does not forbid kprobes. The kernel
 * log names a task that is refused.
 */
bool djk_may_touch_text(void);

/* The negative errno that the ABI promises for a reason. */
int djk_errno_of(unsigned int reason);

/* A reason's short name, as in listings; "?" for an unknown one. */
const char *djk_reason_name(unsigned int reason);

/* Read a struct of the caller's by the extension rule of the ABI, or write one back. 0, -EFAULT;
 * reading: -EINVAL for a size that is too small, -E2BIG for unknown bytes that are not zero. */
int djk_read_struct(void *to, size_t known, const void __user *from);
/* The same of one that has grown since it was published with `first` bytes. */
int djk_read_grown_struct(void *to, size_t first, size_t known, const void __user *from);
int djk_write_struct(void __user *to, const void *from, size_t known);

#endif
