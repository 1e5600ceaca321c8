/* SPDX-License-Identifier: GPL-2.0 */
/* debugfs djprobe/: list, enabled, optimization. */
#ifndef DJPROBE_KMOD_DEBUGFS_H
#define DJPROBE_KMOD_DEBUGFS_H

/* Without debugfs there are no files; that is no error. */
void djk_debugfs_start(void);
void djk_debugfs_stop(void);

#endif
