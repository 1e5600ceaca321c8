// SPDX-License-Identifier: GPL-2.0
/* Results of all kinds: variables, histograms, stacks. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct latencies {
    __u64 total;
    __u32 slots[10];
};

struct latencies by_kind[2];
__u64 hist[8];
__u64 calls;
__u64 never;
__u64 lost = 7; /* told by the loss, which needs events */

struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, 32 * sizeof(__u64));
    __uint(max_entries, 256);
} stacks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 64);
    __type(key, __s32);
    __type(value, struct latencies);
} by_stack SEC(".maps");

SEC("kprobe/vfs_read")
int on_read(void* ctx) {
    __s32 stack = bpf_get_stackid(ctx, &stacks, 0);
    struct latencies one = {.total = 1, .slots = {[4] = 1}};

    __sync_fetch_and_add(&calls, 1);
    hist[3] = 5;
    by_kind[1].slots[2] = 4;
    bpf_map_update_elem(&by_stack, &stack, &one, BPF_ANY);
    return 0;
}
