/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DJPROBE_KMOD_MACHINE_H
#define DJPROBE_KMOD_MACHINE_H

struct djk_doubt;

/* Whether djk_get_machine() can tell how returns and indirect branches are made on this CPU. */
int djk_check_mitigations(struct djk_doubt *doubt);

#endif
