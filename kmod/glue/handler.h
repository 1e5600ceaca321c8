/* SPDX-License-Identifier: GPL-2.0 */
/* One BPF program on one site, as the C side keeps it. */
#ifndef DJPROBE_KMOD_HANDLER_H
#define DJPROBE_KMOD_HANDLER_H

#include <linux/kprobes.h>
#include <linux/types.h>

#include "../../uapi/djprobe.h"
#include "kernel.h"

struct bpf_prog;
struct djprobe;

/* Per CPU, so that no hit writes a line that another CPU reads. */
struct djk_counters {
	u64 hits;
	u64 missed[DJPROBE_MISS_KINDS];
};

struct djk_handler {
	struct djk_probe link;	 /* first: the policy knows only this */
	struct bpf_prog *prog;	 /* this, */
	struct djprobe *c_probe; /* or this */
	bool needs_context;	 /* calls helpers that ask who has attached it */
	u64 cookie;
	struct djk_counters __percpu *counters;
	struct kprobe identity; /* never registered: what bpf_get_func_ip() reads */
};

/* Take a reference to the program; NULL with the reason. Given back by djk_probe_destroy(). */
struct djk_probe *djk_handler_of_program(int prog_fd, u64 cookie, unsigned int *reason,
					 unsigned long *detail);

/* NULL: out of memory. The probe must outlive it by a quiescence. */
struct djk_probe *djk_handler_of_c(struct djprobe *probe);

#endif
