// SPDX-License-Identifier: GPL-2.0
/* One small record for each hit, numbered: a reader can tell which are missing. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct event {
    __u64 number;
    __u64 pid_tgid;
    __u64 ip;
    __u64 cookie;
};
const struct event* unused_event __attribute__((unused));

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 256 * 1024);
} events SEC(".maps");

__u64 lost;
__u64 sent;

SEC("kprobe/__x64_sys_getpgid")
int steady(struct pt_regs* ctx) {
    struct event* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

    if (!event) {
        __sync_fetch_and_add(&lost, 1);
        return 0;
    }
    event->number = __sync_fetch_and_add(&sent, 1);
    event->pid_tgid = bpf_get_current_pid_tgid();
    event->ip = ctx->ip;
    event->cookie = bpf_get_attach_cookie(ctx);
    bpf_ringbuf_submit(event, 0);
    return 0;
}
