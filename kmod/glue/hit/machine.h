/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DJPROBE_KMOD_MACHINE_H
#define DJPROBE_KMOD_MACHINE_H

struct djk_doubt;

/* Whether djk_get_machine() knows how returns and indirect branches must be made on this CPU. 0, or
 * a negative errno with the doubt. */
int djk_check_mitigations(struct djk_doubt *doubt);

#endif
