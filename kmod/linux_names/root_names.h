/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the lists tell the analysis a name of the kernel's text, and whether a kernel may lack it. A
 * name that is skipped silently is code that takes probes where none may be. Plain C.
 */
#ifndef DJPROBE_LINUX_ROOT_NAMES_H
#define DJPROBE_LINUX_ROOT_NAMES_H

enum djprobe_need {
    DJPROBE_ALWAYS,  /* every kernel has it */
    DJPROBE_WITH,    /* every kernel that has the symbol `of` */
    DJPROBE_ONE_OF,  /* every kernel has one of the names with the same `of` */
    DJPROBE_PERHAPS, /* a kernel may lack it, as `of` says */
};

enum djprobe_walk {
    DJPROBE_ITSELF, /* the function only */
    DJPROBE_ALL,    /* and all that it calls */
    DJPROBE_UNTIL,  /* and what it calls before it calls mark[0] or mark[1] */
    DJPROBE_SINCE,  /* and what it calls afterwards */
    DJPROBE_RANGE,  /* all up to the symbol mark[0] */
};

/* A name stands for its parts and copies, too (NAME.cold, NAME.constprop.0, __pi_NAME). */
struct djprobe_root {
    const char* name;
    enum djprobe_need need;
    const char* of;
    enum djprobe_walk walk;
    const char* mark[2];
};

#endif
