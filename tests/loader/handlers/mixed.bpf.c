// SPDX-License-Identifier: GPL-2.0
/* Programs of every kind, each of which counts in its own entry. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 8);
    __type(key, __u32);
    __type(value, __u64);
} hits SEC(".maps");

static int count(__u32 key) {
    __u64* counter = bpf_map_lookup_elem(&hits, &key);

    if (counter) __sync_fetch_and_add(counter, 1);
    return 0;
}

SEC("kprobe/vfs_read")
int probe(void* ctx) {
    return count(0);
}

/* An alternative: left out beside the probe. */
SEC("fentry/vfs_read")
int typed(void* ctx) {
    return count(1);
}

SEC("fentry/vfs_write")
int other(void* ctx) {
    return count(2);
}

SEC("tp_btf/sched_process_exec")
int exec(void* ctx) {
    return count(3);
}

SEC("raw_tp/sched_process_exit")
int ended(void* ctx) {
    return count(4);
}

SEC("tracepoint/sched/sched_process_fork")
int forked(void* ctx) {
    return count(5);
}

SEC("uprobe")
int user(void* ctx) {
    return count(6);
}

SEC("kretprobe/no_such_function")
int nowhere(void* ctx) {
    return count(7);
}
