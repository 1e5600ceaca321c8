/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DJPROBE_KMOD_EXECUTABLE_H
#define DJPROBE_KMOD_EXECUTABLE_H

struct djk_doubt;

/* Whether djk_exec_alloc() and djk_exec_free() do here what they should, by a trial. */
int djk_check_executable(struct djk_doubt *doubt);

#endif
