// SPDX-License-Identifier: GPL-2.0
/* A handler that takes its time: what interrupts this CPU interrupts it. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

static long spin(__u32 index, void* context) {
    *(volatile __u64*)context += index;
    return 0;
}

SEC("kprobe")
int slow(struct pt_regs* ctx) {
    __u64 sum = 0;

    bpf_loop(100000, spin, &sum, 0);
    return 0;
}
