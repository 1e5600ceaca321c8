// SPDX-License-Identifier: GPL-2.0
/*
 * How long does vfs_read() take? A histogram of its latencies.
 *
 *     probeload attach -d 5 vfs_latency.bpf.o
 *
 * Two programs that share maps: without --func probeload attaches all programs of an object, each
 * where its section says.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* When each thread has entered. A thread is in one vfs_read() at a time. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 10240);
    __type(key, __u64);
    __type(value, __u64);
} entered SEC(".maps");

/* At i those below 2^i us, at the last one all others. Small enough for probeload to print it. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 16);
    __type(key, __u32);
    __type(value, __u64);
} below_2_to_the_us SEC(".maps");

SEC("kprobe/vfs_read")
int on_entry(void* ctx) {
    __u64 thread = bpf_get_current_pid_tgid();
    __u64 now = bpf_ktime_get_ns();

    bpf_map_update_elem(&entered, &thread, &now, BPF_ANY);
    return 0;
}

/* At each of the function's returns, whichever it takes. */
SEC("kretprobe/vfs_read")
int on_return(void* ctx) {
    __u64 thread = bpf_get_current_pid_tgid();
    __u64* since = bpf_map_lookup_elem(&entered, &thread);
    __u64 *count, us;
    __u32 slot = 0;

    /* It was inside already when the probes came. */
    if (!since) return 0;
    us = (bpf_ktime_get_ns() - *since) / 1000;
    bpf_map_delete_elem(&entered, &thread);
    while (slot < 15 && us >> slot)
        ++slot;
    count = bpf_map_lookup_elem(&below_2_to_the_us, &slot);
    if (count) ++*count;
    return 0;
}
