// SPDX-License-Identifier: GPL-2.0
/* Counts the calls of many functions with each mechanism of the kernel: vm/guest/peers.cc. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "peers.h"

char LICENSE[] SEC("license") = "GPL";

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, PEERS_FUNCTIONS);
    __type(key, __u32);
    __type(value, __u64);
} counts SEC(".maps");

/* The cookie says which function it is. */
static __always_inline int count(void* ctx) {
    __u32 function = bpf_get_attach_cookie(ctx);
    __u64* value = bpf_map_lookup_elem(&counts, &function);

    if (value) ++*value;
    return 0;
}

SEC("kprobe")
int count_kprobe(void* ctx) {
    return count(ctx);
}

SEC("kprobe.multi")
int count_multi(void* ctx) {
    return count(ctx);
}

SEC("fentry")
int count_fentry(void* ctx) {
    return count(ctx);
}
