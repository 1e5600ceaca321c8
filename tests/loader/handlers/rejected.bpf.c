// SPDX-License-Identifier: GPL-2.0
/* Reads memory that the verifier does not allow. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("kprobe/vfs_read")
int rejected(void* ctx) {
    return *(volatile int*)bpf_get_current_task();
}
