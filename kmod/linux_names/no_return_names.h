/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that have a return and yet do not always come back to their caller. Their return
 * address must not be replaced: the replaced one would stay in the task's list, and calls below
 * would return to where this one should have. The kernel's own list for kretprobes counts, too.
 * Plain C: the module (kmod/glue) and the survey share it.
 */
#ifndef DJPROBE_LINUX_NO_RETURN_NAMES_H
#define DJPROBE_LINUX_NO_RETURN_NAMES_H

static const char* const djprobe_no_return[] = {
    "bpf_throw", /* leaves the BPF program that has called it */
    "do_idle",   /* on a CPU that goes offline, the idle task begins anew */
};

#endif
