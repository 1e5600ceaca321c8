/* SPDX-License-Identifier: GPL-2.0 */
/* One handler on one site, a BPF program or one in C, as the C side keeps it. */
#ifndef DJPROBE_KMOD_HANDLER_H
#define DJPROBE_KMOD_HANDLER_H

#include <linux/kprobes.h>
#include <linux/types.h>

#include "../../../uapi/djprobe.h"
#include "../kernel.h"

struct bpf_prog;
struct djk_shadow;
struct djprobe;
struct djretprobe;

/* Per CPU, so that no hit writes a line that another CPU reads. */
struct djk_counters {
	u64 hits;
	u64 missed[DJPROBE_MISS_KINDS];
};

struct djk_full_handler {
	struct djk_handler link;     /* first: the policy knows only this */
	struct bpf_prog *prog;	     /* this, */
	struct bpf_prog *entry_prog; /* of a session: runs first */
	struct djprobe *c_probe;     /* or this, */
	struct djretprobe *c_return; /* or this */
	struct djk_shadow *shadow;   /* the program runs at the return, the site is the entry */
	bool begins;		     /* decides at the entry whether a call is to be seen */
	bool needs_context;	     /* calls helpers that ask who has attached it */
	bool asks_where;	     /* calls bpf_get_func_ip(), or a program that may */
	bool plain;		     /* a program that runs at the site and does not need that */
	u64 cookie;
	struct djk_counters __percpu *counters;
	struct kprobe identity; /* never registered: what bpf_get_func_ip() reads */
};

/* What a session keeps of a call. */
struct djk_session_call {
	u64 cookie, entered;
};

#endif
