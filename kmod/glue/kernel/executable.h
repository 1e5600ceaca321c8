/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DJPROBE_KMOD_EXECUTABLE_H
#define DJPROBE_KMOD_EXECUTABLE_H

struct djk_doubt;

/* Try whether djk_exec_alloc() and djk_exec_free() do on this kernel what they should. Sleeps. 0,
 * or a negative errno with the doubt. */
int djk_check_executable(struct djk_doubt *doubt);

#endif
