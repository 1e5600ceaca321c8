// SPDX-License-Identifier: GPL-2.0
/* Stacks in events, in keys and by number, and what a queue and a stack hold. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct event {
    __u32 pid;
    __u64 kernel_stack[16];
    __u64 user_stack[16];
    struct bpf_stack_build_id builds[8];
};

const struct event* unused_event __attribute__((unused));

struct call_key {
    __u32 pid;
    __s32 kern_stack_id;
    __s32 user_stack_id;
    char comm[16];
};

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} events SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, 32 * sizeof(__u64));
    __uint(max_entries, 1024);
} traces SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1024);
    __type(key, struct call_key);
    __type(value, __u64);
} calls SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_QUEUE);
    __uint(max_entries, 16);
    __type(value, __u64);
} first SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_STACK);
    __uint(max_entries, 16);
    __type(value, __u64);
} last SEC(".maps");

__u64 lost;
__u64 number;

static void send(void* ctx) {
    struct event* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

    if (!event) {
        __sync_fetch_and_add(&lost, 1);
        return;
    }
    __builtin_memset(event, 0, sizeof(*event));
    event->pid = bpf_get_current_pid_tgid() >> 32;
    bpf_get_stack(ctx, event->kernel_stack, sizeof(event->kernel_stack), 0);
    bpf_get_stack(ctx, event->user_stack, sizeof(event->user_stack), BPF_F_USER_STACK);
    bpf_get_stack(ctx, event->builds, sizeof(event->builds),
                  BPF_F_USER_STACK | BPF_F_USER_BUILD_ID);
    bpf_ringbuf_submit(event, 0);
}

static void add(void* ctx) {
    struct call_key key = {};
    __u64 one = 1;
    __u64* count;

    key.pid = bpf_get_current_pid_tgid() >> 32;
    key.kern_stack_id = bpf_get_stackid(ctx, &traces, 0);
    key.user_stack_id = bpf_get_stackid(ctx, &traces, BPF_F_USER_STACK);
    bpf_get_current_comm(key.comm, sizeof(key.comm));
    count = bpf_map_lookup_elem(&calls, &key);
    if (count)
        __sync_fetch_and_add(count, 1);
    else
        bpf_map_update_elem(&calls, &key, &one, BPF_ANY);
}

SEC("kprobe/vfs_read")
int on_read(void* ctx) {
    __u64 at = __sync_fetch_and_add(&number, 1) + 100;

    bpf_map_push_elem(&first, &at, 0);
    bpf_map_push_elem(&last, &at, BPF_EXIST);
    send(ctx);
    add(ctx);
    return 0;
}

SEC("kprobe/vfs_write")
int on_write(void* ctx) {
    add(ctx);
    return 0;
}
