// SPDX-License-Identifier: GPL-2.0
/* Far more records than fit: most of them are lost, and counted. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct event {
    __u64 number;
};
const struct event* unused_event __attribute__((unused));

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} events SEC(".maps");

__u64 lost;
__u64 sent;

SEC("kprobe/vfs_read")
int flood(void* ctx) {
    for (int i = 0; i < 1000; i++) {
        struct event event = {.number = __sync_fetch_and_add(&sent, 1)};

        /* No wakeup: the reader is not to keep up. */
        if (bpf_ringbuf_output(&events, &event, sizeof(event), BPF_RB_NO_WAKEUP))
            __sync_fetch_and_add(&lost, 1);
    }
    return 0;
}
