/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DJPROBE_KMOD_HELPERS_H
#define DJPROBE_KMOD_HELPERS_H

/* Find those that djk_needs_run_context() knows. */
void djk_helpers_init(void);

#endif
