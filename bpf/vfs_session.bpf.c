// SPDX-License-Identifier: GPL-2.0
/*
 * How long does vfs_read() take? A histogram of its latencies, without a map for who is inside.
 *
 *     probeload attach --session -d 5 vfs_session.bpf.o
 *
 * The kernel keeps for each call what its entry found out.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* At i those below 2^i us, at the last one all others. Small enough for probeload to print it. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 16);
    __type(key, __u32);
    __type(value, __u64);
} below_2_to_the_us SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} bytes_asked_for SEC(".maps");

/* The call's cookie; 0 would mean that its return is of no interest, as that of empty reads. */
SEC("kprobe/vfs_read")
__u64 BPF_KPROBE(on_entry, void* file, void* buffer, __u64 count) {
    return count;
}

SEC("kretprobe/vfs_read")
int BPF_KPROBE(on_return, __u64 cookie, __u64 entered) {
    const __u64 us = (bpf_ktime_get_ns() - entered) / 1000;
    __u64* count;
    __u32 slot = 0;
    __u64* bytes = bpf_map_lookup_elem(&bytes_asked_for, &slot);

    if (bytes) *bytes += cookie;
    while (slot < 15 && us >> slot)
        ++slot;
    count = bpf_map_lookup_elem(&below_2_to_the_us, &slot);
    if (count) ++*count;
    return 0;
}
