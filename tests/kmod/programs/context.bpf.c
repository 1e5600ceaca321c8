// SPDX-License-Identifier: GPL-2.0
/* Programs as compilers make them, for context_use_test.cc; never loaded. */
#include "vmlinux.h"

/* Behind the types. */
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} counts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
} events SEC(".maps");

SEC("kprobe/empty")
int empty(struct pt_regs* ctx) {
    return 0;
}

SEC("kprobe/counter")
int counter(struct pt_regs* ctx) {
    __u32 zero = 0;
    __u64* count = bpf_map_lookup_elem(&counts, &zero);

    if (count) ++*count;
    return 0;
}

SEC("kprobe/filter")
int filter(struct pt_regs* ctx) {
    __u32 zero = 0;
    __u64 size = PT_REGS_PARM3(ctx), *count;

    if (size < 4096) return 0;
    count = bpf_map_lookup_elem(&counts, &zero);
    if (count) *count += size;
    return 0;
}

SEC("kprobe/late_read")
int late_read(struct pt_regs* ctx) {
    __u32 zero = 0;
    __u64* count = bpf_map_lookup_elem(&counts, &zero);

    if (count) *count = PT_REGS_PARM1(ctx) + PT_REGS_IP(ctx);
    return 0;
}

SEC("kprobe/hands_over")
int hands_over(struct pt_regs* ctx) {
    __u64 record = PT_REGS_PARM1(ctx);

    bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &record, sizeof(record));
    return 0;
}

SEC("kprobe/identity")
int identity(struct pt_regs* ctx) {
    return bpf_get_attach_cookie(ctx) == 1;
}

static __attribute__((noinline)) int look(struct pt_regs* ctx) {
    return PT_REGS_PARM1(ctx) > 3;
}

SEC("kprobe/subprogram")
int subprogram(struct pt_regs* ctx) {
    return look(ctx);
}

char LICENSE[] SEC("license") = "GPL";
