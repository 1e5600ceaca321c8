// SPDX-License-Identifier: GPL-2.0
/*
 * Counts for `probeload count` where the kernel's own probes take the place of the module's: a
 * place has the number of its counter for a cookie.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "calls.h"

char LICENSE[] SEC("license") = "GPL";

/* Whose hits count. A task's numbers and name are compared only where that is asked for. */
const volatile struct calls_filter wanted;

/* The kernel lets no program of this kind interrupt another one on its CPU: no lock is needed. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} djprobe_count SEC(".maps");

static __always_inline bool is_wanted(void) {
    const __u64 task = bpf_get_current_pid_tgid();

    if (wanted.by_process && task >> 32 != wanted.process) return false;
    if (wanted.by_thread && (__u32)task != wanted.thread) return false;
    if (wanted.by_name) {
        /* Up to 6.1 the helper leaves what is behind the NUL as it was. */
        __u64 name[2] = {};

        bpf_get_current_comm(name, sizeof(name));
        return name[0] == wanted.name[0] && name[1] == wanted.name[1];
    }
    return true;
}

static __always_inline int count(void* ctx) {
    const __u32 number = bpf_get_attach_cookie(ctx);
    __u64* counter;

    if (!is_wanted()) return 0;
    counter = bpf_map_lookup_elem(&djprobe_count, &number);
    if (counter) ++*counter;
    return 0;
}

SEC("kprobe")
int count_place(void* ctx) {
    return count(ctx);
}

SEC("kprobe.multi")
int count_functions(void* ctx) {
    return count(ctx);
}
