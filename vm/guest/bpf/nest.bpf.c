// SPDX-License-Identifier: GPL-2.0
/* A handler whose helpers enter functions that may be probed themselves, once each. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16);
    __type(key, __u32);
    __type(value, __u64);
} hash SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 256 * 1024);
} ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} runs SEC(".maps");

static __always_inline void enter(struct pt_regs* ctx, bool hashes) {
    __u32 key = 0;
    __u64 value = 0;
    __u64* count = bpf_map_lookup_elem(&runs, &key);

    if (count) ++*count;
    if (hashes) bpf_map_update_elem(&hash, &key, &value, BPF_ANY);
    bpf_probe_read_kernel(&value, sizeof(value), (void*)ctx);
    /* Discarded space is used again: this ring has no reader. */
    void* record = bpf_ringbuf_reserve(&ring, 8, 0);
    if (record) bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
}

SEC("kprobe")
int nest(struct pt_regs* ctx) {
    enter(ctx, true);
    return 0;
}

SEC("kprobe")
int nest_without_hash(struct pt_regs* ctx) {
    enter(ctx, false);
    return 0;
}
