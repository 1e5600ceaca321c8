// SPDX-License-Identifier: GPL-2.0
/* A program that goes on in another one, which counts. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} counted SEC(".maps");

int count(void* ctx);

struct {
    __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
    __uint(max_entries, 1);
    __uint(key_size, sizeof(__u32));
    __array(values, int(void*));
} next SEC(".maps") = {.values = {[0] = (void*)&count}};

SEC("kprobe/count")
int count(void* ctx) {
    __u32 key = 0;
    __u64* counter = bpf_map_lookup_elem(&counted, &key);

    if (counter) __sync_fetch_and_add(counter, 1);
    return 0;
}

SEC("kprobe/vfs_read")
int on_read(void* ctx) {
    bpf_tail_call(ctx, &next, 0);
    return 0;
}

SEC("kprobe/vfs_write")
int on_write(void* ctx) {
    return 0;
}
