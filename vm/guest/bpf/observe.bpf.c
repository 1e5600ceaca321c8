// SPDX-License-Identifier: GPL-2.0
/* Writes down all that a handler can see. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "observe.h"

char LICENSE[] SEC("license") = "GPL";

/* Only hits by this process count; 0: none. */
__u32 observed_tgid;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, OBSERVE_KEYS);
    __type(key, __u32);
    __type(value, struct observation);
} observations SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(max_entries, 1024);
    __type(key, __u32);
    __uint(value_size, OBSERVE_FRAMES * sizeof(__u64));
} stacks SEC(".maps");

SEC("kprobe")
int observe(struct pt_regs* ctx) {
    __u64 id = bpf_get_current_pid_tgid();
    __u64 cookie = bpf_get_attach_cookie(ctx);
    __u32 key = cookie;
    struct observation* seen;

    if (id >> 32 != observed_tgid) return 0;
    seen = bpf_map_lookup_elem(&observations, &key);
    if (!seen) return 0;
    seen->hits++;
    seen->cookie = cookie;
    seen->func_ip = bpf_get_func_ip(ctx);
    seen->pid_tgid = id;
    seen->stack_bytes = bpf_get_stack(ctx, seen->stack, sizeof(seen->stack), 0);
    seen->stack_id = bpf_get_stackid(ctx, &stacks, BPF_F_REUSE_STACKID);
    bpf_get_current_comm(seen->comm, sizeof(seen->comm));
#pragma unroll
    for (int i = 0; i < OBSERVE_REGS; i++)
        seen->regs[i] = ((unsigned long*)ctx)[i];
    return 0;
}
