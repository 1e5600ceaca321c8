// SPDX-License-Identifier: GPL-2.0
/* Its records wake up no reader. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct event {
    __u64 time;
};

const struct event* unused_event __attribute__((unused));

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 65536);
} events SEC(".maps");

__u64 lost;

SEC("kprobe/vfs_read")
int quiet(void* ctx) {
    struct event* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

    if (!event) {
        __sync_fetch_and_add(&lost, 1);
        return 0;
    }
    event->time = bpf_ktime_get_ns();
    bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
    return 0;
}
