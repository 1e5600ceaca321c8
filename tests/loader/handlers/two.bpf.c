// SPDX-License-Identifier: GPL-2.0
/* Several programs: one that runs, and two that cannot be handlers. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} cookies SEC(".maps");

SEC("kprobe")
int probe(void* ctx) {
    __u32 key = 0;
    __u64 cookie = bpf_get_attach_cookie(ctx);

    bpf_map_update_elem(&cookies, &key, &cookie, BPF_ANY);
    return 0;
}

SEC("kretprobe/vfs_read")
int at_return(void* ctx) {
    return 0;
}

SEC("raw_tracepoint/sys_enter")
int tracepoint(void* ctx) {
    return 0;
}
