// SPDX-License-Identifier: GPL-2.0
/*
 * When a signal was last sent to probeload, and when to its tool: who sends one to a whole process
 * group or control group sends it to both.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "signals.h"

char LICENSE[] SEC("license") = "GPL";

/* Processes. */
const volatile __u32 own;
__u32 tool;

struct signal_sent to_own[SIGNALS_NUMBERS], to_tool[SIGNALS_NUMBERS];

/* As events/signal/signal_generate/format has it. */
struct generated {
    __u64 common;
    int sig, error, code;
    char comm[16];
    __u32 pid;
};

/* No two are sent to one process at once: its lock is held. */
static void note(struct signal_sent* sent, __u32 sender) {
    sent->sender = sender;
    sent->time = bpf_ktime_get_ns();
}

SEC("tracepoint/signal/signal_generate")
int on_signal(struct generated* ctx) {
    const __u32 sender = bpf_get_current_pid_tgid() >> 32, number = ctx->sig;

    if (number >= SIGNALS_NUMBERS || sender == own) return 0;
    if (ctx->pid == own)
        note(&to_own[number], sender);
    else if (ctx->pid == tool)
        note(&to_tool[number], sender);
    return 0;
}
