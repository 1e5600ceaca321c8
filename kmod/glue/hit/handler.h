/* SPDX-License-Identifier: GPL-2.0 */
/* One handler on one site, a BPF program, a function in C or a counter, as the C side keeps it. */
#ifndef DJPROBE_KMOD_HANDLER_H
#define DJPROBE_KMOD_HANDLER_H

#include <linux/kprobes.h>
#include <linux/types.h>

#include "../../../uapi/djprobe.h"
#include "../kernel.h"

struct bpf_map;
struct bpf_prog;
struct djk_action_list;
struct djk_shadow;
struct djprobe;
struct djretprobe;

/* One for each CPU, so that no hit writes a cache line that another CPU reads. */
struct djk_counters {
	u64 hits;
	u64 missed[DJPROBE_MISS_KINDS];
};

struct djk_full_handler {
	struct djk_handler link;	 /* first: the policy knows only this */
	struct djk_action_list *actions; /* what it does where it counts, or NULL: it increments; of
					  * a program the conditions in front of it, or NULL */
	struct bpf_map *map; /* it only counts: the map that holds link.counter; or NULL */
	/* A handler that only counts ends here: djk_runs(). */
	bool begins;	    /* it decides at the entry whether to see the return */
	bool needs_context; /* it calls helpers that read its cookie or its kprobe */
	bool asks_where;    /* it calls bpf_get_func_ip(), or a program that may */
	bool copies;	  /* a program that it calls may write to the registers, and gets a copy */
	bool as_kprobe;	  /* the program sees `ip` as at a kprobe of the kernel's own */
	bool inside;	  /* with as_kprobe: the kernel sees no function's entry there */
	bool as_returned; /* it sees `ip` and `sp` as they are behind the return */
	struct bpf_prog *prog;	     /* what runs: this, */
	struct bpf_prog *entry_prog; /* a session's program for the entry, or NULL */
	struct djprobe *c_probe;     /* or this, */
	struct djretprobe *c_return; /* or this */
	struct djk_shadow *shadow;   /* not NULL: it runs at the return, the site is the entry */
	struct djk_counters __percpu *counters; /* of what it runs */
	unsigned long shown_ip;			/* with as_kprobe: at an entry, else 0 */
	u64 cookie;
	struct kprobe identity; /* never registered: what bpf_get_func_ip() reads */
};

/* What is allocated of a handler that only counts. There may be hundreds of thousands. */
#define DJK_COUNTER_SIZE offsetof(struct djk_full_handler, begins)

/* Whether it runs something: only such a handler has all fields. */
static inline bool djk_runs(const struct djk_full_handler *handler)
{
	return !handler->link.counter;
}

/* What a session keeps about a call: its cookie, and the time of its entry in nanoseconds. */
struct djk_session_call {
	u64 cookie, entered;
};

#endif
