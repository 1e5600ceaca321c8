// SPDX-License-Identifier: GPL-2.0
/* Where it runs, and how often: reads its context and calls nothing, so that a detour may call it
 * itself. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

__u64 last_ip;

SEC("kprobe")
int place(struct pt_regs* ctx) {
    last_ip = ctx->ip;
    return 0;
}
