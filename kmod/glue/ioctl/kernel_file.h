/* SPDX-License-Identifier: GPL-2.0 */
/* Files of the kernel's own probes. */
#ifndef DJPROBE_KMOD_KERNEL_FILE_H
#define DJPROBE_KMOD_KERNEL_FILE_H

struct file;

/*
 * A reference to the perf event or the BPF link that is the caller's descriptor `fd`, or
 * ERR_PTR(-EBADF): it is neither. Neither of them can hold a file of this module, so that one of
 * ours may hold it.
 */
struct file *djk_kernel_file(int fd);

#endif
