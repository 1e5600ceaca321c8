// SPDX-License-Identifier: GPL-2.0
/* A handler of several programs, and what others attach to each of them while it is on a site. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

enum { ON_HIT, BY_SUBPROGRAM, BY_TAIL, TRACED, COUNTERS };
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, COUNTERS);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} tails SEC(".maps");

static __always_inline int count(__u32 key) {
    __u64* const value = bpf_map_lookup_elem(&counters, &key);
    if (value) ++*value;
    return 0;
}

__noinline int subprogram(__u32 key) {
    return count(key);
}

SEC("kprobe")
int on_hit_traced(struct pt_regs* ctx) {
    count(ON_HIT);
    subprogram(BY_SUBPROGRAM);
    bpf_tail_call(ctx, &tails, 0);
    return 0;
}

SEC("kprobe")
int tail(struct pt_regs* ctx) {
    return count(BY_TAIL);
}

/* They use all registers that a program may. */
SEC("?fentry")
int BPF_PROG(before) {
    bpf_get_smp_processor_id();
    return count(TRACED);
}

SEC("?fexit")
int BPF_PROG(after) {
    bpf_get_smp_processor_id();
    return count(TRACED);
}

SEC("?freplace")
int replacement(struct pt_regs* ctx) {
    count(TRACED);
    return bpf_get_attach_cookie(ctx) + ctx->di;
}
