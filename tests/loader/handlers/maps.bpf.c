// SPDX-License-Identifier: GPL-2.0
/* Results in maps: a struct, signed per-CPU integers, a hash by name, and one of many. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct totals {
    __u64 calls;
    __s32 sign;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, struct totals);
} totals SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __s32);
} minus SEC(".maps");

struct name {
    char comm[16];
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16);
    __type(key, struct name);
    __type(value, __u64);
} by_name SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 10240);
    __type(key, __u32);
    __type(value, __u64);
} many SEC(".maps");

SEC("kprobe/vfs_read")
int maps(void* ctx) {
    __u32 key = 1;
    struct name name = {};
    __u64 one = 1;
    struct totals* total = bpf_map_lookup_elem(&totals, &key);

    if (total) {
        __sync_fetch_and_add(&total->calls, 1);
        total->sign = -5;
    }
    key = 0;
    __s32* count = bpf_map_lookup_elem(&minus, &key);
    if (count) --*count;
    bpf_get_current_comm(name.comm, sizeof(name.comm));
    __u64* calls = bpf_map_lookup_elem(&by_name, &name);
    if (calls)
        __sync_fetch_and_add(calls, 1);
    else
        bpf_map_update_elem(&by_name, &name, &one, BPF_NOEXIST);
    for (__u32 i = 0; i < 100; i++) {
        __u32 which = i;
        __u64 value = i;

        bpf_map_update_elem(&many, &which, &value, BPF_ANY);
    }
    return 0;
}
