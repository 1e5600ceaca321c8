// SPDX-License-Identifier: GPL-2.0
/* One of each kind of map, told the number of the hit. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

__u32 observed_tgid;
__u64 hits;
__u64 failed;

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 256 * 1024);
} ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
} perf SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 4096);
    __type(key, __u32);
    __type(value, __u64);
} hash SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} per_cpu SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, __u32);
    __type(value, __u64);
} lru SEC(".maps");

SEC("kprobe")
int write_all(struct pt_regs* ctx) {
    __u64 number;
    __u64* count;
    __u32 key;
    __u32 first = 0;

    if (bpf_get_current_pid_tgid() >> 32 != observed_tgid) return 0;
    number = __sync_fetch_and_add(&hits, 1);
    key = number;
    if (bpf_ringbuf_output(&ring, &number, sizeof(number), 0)) __sync_fetch_and_add(&failed, 1);
    if (bpf_perf_event_output(ctx, &perf, BPF_F_CURRENT_CPU, &number, sizeof(number)))
        __sync_fetch_and_add(&failed, 1);
    if (bpf_map_update_elem(&hash, &key, &number, BPF_ANY)) __sync_fetch_and_add(&failed, 1);
    if (bpf_map_update_elem(&lru, &key, &number, BPF_ANY)) __sync_fetch_and_add(&failed, 1);
    count = bpf_map_lookup_elem(&per_cpu, &first);
    if (count) ++*count;
    return 0;
}
