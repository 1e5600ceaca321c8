// SPDX-License-Identifier: GPL-2.0
/* Its ring buffer has keys, for which the kernel refuses it. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 65536);
    __uint(key_size, 4);
} events SEC(".maps");

SEC("kprobe/vfs_read")
int keyed(void* ctx) {
    __u64 time = bpf_ktime_get_ns();

    bpf_ringbuf_output(&events, &time, sizeof(time), 0);
    return 0;
}
