/* SPDX-License-Identifier: GPL-2.0 */
/* What observe.bpf.c tells the tests; for both sides, so plain types only. */
#ifndef DJPROBE_OBSERVE_H
#define DJPROBE_OBSERVE_H

#define OBSERVE_KEYS 64
#define OBSERVE_FRAMES 24
/* struct pt_regs as an array: r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs
 * flags sp ss. */
#define OBSERVE_REGS 21

enum observe_reg {
    OBSERVE_AX = 10,
    OBSERVE_CX = 11,
    OBSERVE_DX = 12,
    OBSERVE_SI = 13,
    OBSERVE_DI = 14,
    OBSERVE_ORIG_AX = 15,
    OBSERVE_IP = 16,
    OBSERVE_CS = 17,
    OBSERVE_FLAGS = 18,
    OBSERVE_SP = 19,
    OBSERVE_SS = 20,
};

/* Of the latest hit by the observed process, one for each cookie below OBSERVE_KEYS. */
struct observation {
    unsigned long long hits;
    unsigned long long cookie;
    unsigned long long func_ip;
    unsigned long long pid_tgid;
    long long stack_bytes; /* bpf_get_stack's answer */
    long long stack_id;    /* bpf_get_stackid's answer */
    unsigned long long regs[OBSERVE_REGS];
    unsigned long long stack[OBSERVE_FRAMES];
    char comm[16];
};

#endif
