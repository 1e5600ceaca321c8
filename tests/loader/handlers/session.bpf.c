// SPDX-License-Identifier: GPL-2.0
/* Every other call of do_getpgid(), with a cookie of more than 32 bits. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

#define MARK (1ull << 40)

__u64 calls;

/* Those whose cookie and time were right, and all others. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, __u64);
} returns SEC(".maps");

SEC("kprobe/do_getpgid")
__u64 at_entry(struct pt_regs* ctx) {
    const __u64 number = __sync_fetch_and_add(&calls, 1);

    return number & 1 ? MARK | number : 0;
}

SEC("kretprobe/do_getpgid")
int at_return(struct pt_regs* ctx) {
    const __u64 cookie = PT_REGS_PARM1(ctx), entered = PT_REGS_PARM2(ctx);
    const __u64 now = bpf_ktime_get_ns();
    __u32 wrong = !(cookie & 1) || !(cookie & MARK) || (cookie & ~MARK) >= calls || entered > now ||
                  now - entered > 10000000000ull;
    __u64* value = bpf_map_lookup_elem(&returns, &wrong);

    if (value) ++*value;
    return 0;
}
