// SPDX-License-Identifier: GPL-2.0
/*
 * How often does the kernel come by? The cheapest useful handler: it reads nothing.
 *
 *     probeload attach --func vfs_read -d 5 count.bpf.o
 *
 * It sends no events: at the end probeload prints the sum over all CPUs.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* One counter for each CPU: no atomic operation, no cache line that CPUs fight for. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} count SEC(".maps");

/* A bare "kprobe" leaves the place to --func; any instruction will do, not only an entry. */
SEC("kprobe")
int on_hit(void* ctx) {
    __u32 key = 0;
    __u64* value = bpf_map_lookup_elem(&count, &key);

    /* The verifier does not know that key 0 always exists. */
    if (value) ++*value;
    return 0;
}
