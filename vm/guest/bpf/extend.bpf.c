// SPDX-License-Identifier: GPL-2.0
/* A handler, and what may take its place; one that looks whether it has a context at all. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

__u64 ran;

SEC("kprobe")
int extended(struct pt_regs* ctx) {
    __sync_fetch_and_add(&ran, 1);
    return 0;
}

/* Run where there is no cookie it would be a crash. */
SEC("?freplace")
int extension(struct pt_regs* ctx) {
    return bpf_get_attach_cookie(ctx) + ctx->di;
}

SEC("kprobe")
int looks_for_context(struct pt_regs* ctx) {
    if (!ctx) return 0;
    __sync_fetch_and_add(&ran, 1);
    return 0;
}
