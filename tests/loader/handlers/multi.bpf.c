// SPDX-License-Identifier: GPL-2.0
/* Programs made for kprobe.multi: functions by a pattern, the function and the cookie by helpers.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* At the entry, at the return. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, __u64);
} calls SEC(".maps"), functions SEC(".maps"), cookies SEC(".maps");

static int keep(void* ctx, __u32 key) {
    __u64 function = bpf_get_func_ip(ctx);
    __u64 cookie = bpf_get_attach_cookie(ctx);
    __u64* count = bpf_map_lookup_elem(&calls, &key);

    if (count) __sync_fetch_and_add(count, 1);
    bpf_map_update_elem(&functions, &key, &function, BPF_ANY);
    bpf_map_update_elem(&cookies, &key, &cookie, BPF_ANY);
    return 0;
}

SEC("kprobe.multi/__x64_sys_getpgi?")
int at_entry(struct pt_regs* ctx) {
    return keep(ctx, 0);
}

SEC("kretprobe.multi/__x64_sys_getpgi?")
int at_return(struct pt_regs* ctx) {
    return keep(ctx, 1);
}
