// SPDX-License-Identifier: GPL-2.0
/* Sends at every second hit, and does not count what is lost. */
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

__u64 hits;

SEC("kprobe/vfs_read")
int uncounted(void* ctx) {
    struct event event = {.number = __sync_fetch_and_add(&hits, 1)};

    if (event.number % 2) bpf_ringbuf_output(&events, &event, sizeof(event), 0);
    return 0;
}
