// SPDX-License-Identifier: GPL-2.0
/* Events through a perf event array, the older way. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct event {
    __u32 pid;
    char comm[16];
};
const struct event* unused_event __attribute__((unused));

struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(key_size, 4);
    __uint(value_size, 4);
} events SEC(".maps");

SEC("kprobe/vfs_read")
int perf(void* ctx) {
    struct event event = {.pid = bpf_get_current_pid_tgid() >> 32};

    bpf_get_current_comm(event.comm, sizeof(event.comm));
    bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &event, sizeof(event));
    return 0;
}
