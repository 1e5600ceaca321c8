// SPDX-License-Identifier: GPL-2.0
/* Both ends of vfs_read(), as readload calls it: 64 bytes asked for, 64 returned. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, __u64);
} calls SEC(".maps");

static void count(__u32 at_return) {
    char comm[16] = {};
    __u64* value;
    int i;

    bpf_get_current_comm(comm, sizeof(comm));
    for (i = 0; i < 9; ++i)
        if (comm[i] != "readload"[i]) return;
    value = bpf_map_lookup_elem(&calls, &at_return);
    if (value) ++*value;
}

SEC("kprobe/vfs_read")
int at_entry(struct pt_regs* ctx) {
    if (PT_REGS_PARM3(ctx) == 64) count(0);
    return 0;
}

SEC("kretprobe/vfs_read")
int at_return(struct pt_regs* ctx) {
    if (PT_REGS_RC(ctx) == 64) count(1);
    return 0;
}

/* Optional: it is not attached unless it is named. */
SEC("?kprobe/vfs_write")
int on_write(void* ctx) {
    return 0;
}
