// SPDX-License-Identifier: GPL-2.0
/* Programs of kprobe.multi: one that asks nothing of its link, one that does. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "observe.h"

char LICENSE[] SEC("license") = "GPL";

__u32 observed_tgid;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, OBSERVE_KEYS);
    __type(key, __u32);
    __type(value, struct observation);
} observations SEC(".maps");

static struct observation* observe_at(struct pt_regs* ctx, __u32 key) {
    struct observation* seen = bpf_map_lookup_elem(&observations, &key);

    if (!seen || bpf_get_current_pid_tgid() >> 32 != observed_tgid) return 0;
    seen->hits++;
    seen->stack_bytes = bpf_get_stack(ctx, seen->stack, sizeof(seen->stack), 0);
#pragma unroll
    for (int i = 0; i < OBSERVE_REGS; i++)
        seen->regs[i] = ((unsigned long*)ctx)[i];
    return seen;
}

SEC("kprobe.multi")
int observe_multi(struct pt_regs* ctx) {
    observe_at(ctx, 0);
    return 0;
}

SEC("kprobe.multi")
int asking_multi(struct pt_regs* ctx) {
    struct observation* seen = observe_at(ctx, 1);

    if (!seen) return 0;
    seen->cookie = bpf_get_attach_cookie(ctx);
    seen->func_ip = bpf_get_func_ip(ctx);
    return 0;
}
