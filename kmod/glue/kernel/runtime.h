/* SPDX-License-Identifier: GPL-2.0 */
/* The optimizer's worker, the tasks that wait for it, and the notifier about modules that
 * unload. */
#ifndef DJPROBE_KMOD_RUNTIME_H
#define DJPROBE_KMOD_RUNTIME_H

struct djp_probe;

/* 0 or a negative errno. */
int djk_runtime_start(void);
/* Sleeps until the worker has run for the last time. No probe is left. */
void djk_runtime_stop(void);

/* Sleep until the optimizer has decided about the probe's site. 0, or -ERESTARTSYS on a signal. */
int djk_wait_settled(const struct djp_probe *probe);

#endif
