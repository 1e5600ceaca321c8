/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DJPROBE_KMOD_HELPERS_H
#define DJPROBE_KMOD_HELPERS_H

/* Find the addresses of the helpers that need no run context, for djk_needs_run_context(). Sleeps.
 */
void djk_helpers_init(void);

#endif
