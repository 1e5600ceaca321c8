// SPDX-License-Identifier: GPL-2.0
/* Whether a handler has a run context, which some helpers read: one that calls what is known not to
 * need it, and one that calls a helper of which that is not known. */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

__u32 observed_tgid;
__u32 known_hits, known_contexts;
__u32 unknown_hits, unknown_contexts;

struct {
    __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
    __uint(max_entries, 1);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
} groups SEC(".maps");

static __always_inline bool has_context(void) {
    const struct task_struct* task = (void*)bpf_get_current_task();
    return BPF_CORE_READ(task, bpf_ctx);
}

SEC("kprobe")
int calls_known(struct pt_regs* ctx) {
    if (bpf_get_current_pid_tgid() >> 32 != observed_tgid) return 0;
    known_hits++;
    if (has_context()) known_contexts++;
    return 0;
}

SEC("kprobe")
int calls_unknown(struct pt_regs* ctx) {
    if (bpf_get_current_pid_tgid() >> 32 != observed_tgid) return 0;
    unknown_hits++;
    if (has_context()) unknown_contexts++;
    bpf_current_task_under_cgroup(&groups, 0);
    return 0;
}
