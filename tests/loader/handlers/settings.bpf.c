// SPDX-License-Identifier: GPL-2.0
/* What a tool's own code sets: filters in .rodata, the sizes of maps. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

enum calls { NO_CALLS, READ_CALLS, WRITE_CALLS };

const volatile enum calls what = NO_CALLS;
const volatile bool by_name = false;
const volatile char name[16] = "";
const volatile __u32 steps[4] = {};

__u64 counted = 0;
__s32 last = -1;

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __type(key, __u32);
    __type(value, __u64);
} by_thread SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(key_size, sizeof(__u32));
} stacks SEC(".maps");

static bool is_other_name(void) {
    char comm[16];

    bpf_get_current_comm(comm, sizeof(comm));
    for (int i = 0; i < 16; i++) {
        if (comm[i] != name[i]) return true;
        if (!comm[i]) return false;
    }
    return false;
}

static int count(void* ctx, enum calls this) {
    __u32 thread = (__u32)bpf_get_current_pid_tgid();
    __u64 one = 1;

    if (what != this || (by_name && is_other_name())) return 0;
    __sync_fetch_and_add(&counted, steps[0] + steps[1]);
    last = bpf_get_stackid(ctx, &stacks, 0);
    bpf_map_update_elem(&by_thread, &thread, &one, BPF_ANY);
    return 0;
}

SEC("kprobe/vfs_read")
int on_read(void* ctx) {
    return count(ctx, READ_CALLS);
}

SEC("kprobe/vfs_write")
int on_write(void* ctx) {
    return count(ctx, WRITE_CALLS);
}
