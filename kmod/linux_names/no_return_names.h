/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that have a return and yet do not always come back to their caller, whose return
 * address must not be replaced: what was put in its place would stay in the task's list, and calls
 * below it would return to where it should have. Beside the kernel's own list for kretprobes. Plain
 * C: the module (kmod/glue) and the survey share it.
 */
#ifndef DJPROBE_LINUX_NO_RETURN_NAMES_H
#define DJPROBE_LINUX_NO_RETURN_NAMES_H

static const char* const djprobe_no_return[] = {
    "bpf_throw", /* leaves the BPF program that has called it */
    "do_idle",   /* of a CPU that goes offline, whose idle task begins anew */
};

#endif
