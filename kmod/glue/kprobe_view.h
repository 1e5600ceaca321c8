/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel's own kprobes see of the text that we patch. */
#ifndef DJPROBE_KMOD_KPROBE_VIEW_H
#define DJPROBE_KMOD_KPROBE_VIEW_H

/*
 * From here on the kernel's kprobes see our patches (djk_show_patch()). Sleeps. 0, or -errno after
 * one line in the log: the module must not load then.
 */
int djk_kprobe_view_start(void);
/* Prove that the kernel decides by what it is told. Sleeps. 0, or -errno after one line in the log.
 */
int djk_kprobe_view_check(void);
/* No patch is shown any more. Sleeps until no task is in here. */
void djk_kprobe_view_stop(void);

#endif
