// SPDX-License-Identifier: GPL-2.0
/* Events of two programs in one ring buffer: getpgid(), on its way in and out. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

struct event {
    char end[8];
    __u64 function;
    __u64 value;
};
const struct event* unused_event __attribute__((unused));

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 64 * 1024);
} events SEC(".maps");

__u64 lost;

static int send(void* ctx, const char* end, __u64 value) {
    struct event* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

    if (!event) {
        __sync_fetch_and_add(&lost, 1);
        return 0;
    }
    __builtin_memcpy(event->end, end, sizeof(event->end));
    event->function = bpf_get_func_ip(ctx);
    event->value = value;
    bpf_ringbuf_submit(event, 0);
    return 0;
}

SEC("kprobe/__x64_sys_getpgid")
int at_entry(struct pt_regs* ctx) {
    return send(ctx, "entry\0\0", 0);
}

SEC("kretprobe/__x64_sys_getpgid")
int at_return(struct pt_regs* ctx) {
    return send(ctx, "return\0", PT_REGS_RC(ctx));
}
