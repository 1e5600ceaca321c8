/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel's own kprobes see of the text that we patch. */
#ifndef DJPROBE_KMOD_KPROBE_VIEW_H
#define DJPROBE_KMOD_KPROBE_VIEW_H

struct djk_doubt;

/*
 * Let the kernel's kprobes see our patches (djk_show_patch()). Sleeps. 0, or a negative errno with
 * the doubt: the module must not load then.
 */
int djk_kprobe_view_start(struct djk_doubt *doubt);
/* Prove that the kernel decides by these patches. Sleeps. 0, or a negative errno with the doubt. */
int djk_kprobe_view_check(struct djk_doubt *doubt);
/* As the kernel's recover_probed_instruction(), for ourselves. Under djk_text_lock(). */
unsigned long djk_recover(unsigned char *bytes, unsigned long address);
/* Undo the start. No patch is shown any more. Sleeps until no task is in this code. */
void djk_kprobe_view_stop(void);

#endif
