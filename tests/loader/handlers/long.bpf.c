// SPDX-License-Identifier: GPL-2.0
/* Runs for 40 ms, on a kernel whose only CPU counts its timer's ticks. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define LONG_NS 40000000ull

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} ticks SEC(".maps");

static long wait(__u32 index, __u64* end) {
    return bpf_ktime_get_ns() >= *end;
}

SEC("kprobe/__x64_sys_getpgid")
int run_long(struct pt_regs* ctx) {
    const __u64 before = bpf_jiffies64() + bpf_get_attach_cookie(ctx);
    __u64 end = bpf_ktime_get_ns() + LONG_NS;
    const __u32 zero = 0;
    __u64* sum = bpf_map_lookup_elem(&ticks, &zero);

    bpf_loop(1 << 23, wait, &end, 0);
    if (sum) __sync_fetch_and_add(sum, bpf_jiffies64() - before);
    return 0;
}
