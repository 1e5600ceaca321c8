// SPDX-License-Identifier: GPL-2.0
/* Two ring buffers: one whose records have no type, one whose records have another size. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} nameless SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} shorts SEC(".maps");

struct shorts {
    __u64 a;
    __u64 b;
};
const struct shorts* unused_shorts __attribute__((unused));

SEC("kprobe/vfs_read")
int untyped(void* ctx) {
    __u32 record = 0x64636261;

    bpf_ringbuf_output(&nameless, &record, sizeof(record), 0);
    bpf_ringbuf_output(&shorts, &record, sizeof(record), 0);
    return 0;
}
