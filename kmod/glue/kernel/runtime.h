/* SPDX-License-Identifier: GPL-2.0 */
/* The worker, the waiters and the target-module notifier behind kernel.h. */
#ifndef DJPROBE_KMOD_RUNTIME_H
#define DJPROBE_KMOD_RUNTIME_H

struct djp_probe;

int djk_runtime_start(void);
/* No probe is left; returns when the worker has run for the last time. */
void djk_runtime_stop(void);

/* Sleep until the optimizer has decided about the probe's site. 0 or -ERESTARTSYS. */
int djk_wait_settled(const struct djp_probe *probe);

#endif
