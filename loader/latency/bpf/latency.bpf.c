// SPDX-License-Identifier: GPL-2.0
/*
 * From one place to another in the same task: what `probeload latency` attaches where actions of
 * the module's cannot measure it. new_task() is needed in both cases.
 *
 * When a task was at the first place stands in an array, at the task's number. The storage that the
 * kernel has for tasks (BPF_MAP_TYPE_TASK_STORAGE) takes 156 instructions a look instead of 65, and
 * the first look takes memory, up to 6.3 by kmalloc(): a hit may lie in the allocator, or in an
 * NMI.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "../../../uapi/djprobe_action.h"
#include "latency.h"

char LICENSE[] SEC("license") = "GPL";

const volatile bool by_comm;
/* All bits of the largest number of a task. */
const volatile __u32 mask;
/* probeload, unless it does not know its number. */
const volatile __u32 own;
/* Else a place that is attached first would have hits to which the other has none. */
bool on;

/* 0: the task was not at the first place. As the module's actions want it, see
 * DJPROBE_TIMES_HEAD. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} began SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct latency_seen);
} seen SEC(".maps");

/* In place of the programs. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct latency_counted);
} counted SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(max_entries, LATENCY_COMMS);
    __type(key, struct latency_comm);
    __type(value, struct latency_times);
} comms SEC(".maps");

static const struct latency_times nothing = {};

static __always_inline __u64* began_of(__u32 task) {
    const __u32 last = mask;
    const __u32 index = DJPROBE_TIMES_HEAD + DJPROBE_TIMES_INDEX(task, last);

    return task <= last ? bpf_map_lookup_elem(&began, &index) : NULL;
}

/* A number comes again, and its last bearer may have left a time. */
SEC("tp_btf/task_newtask")
int BPF_PROG(new_task, struct task_struct* task) {
    __u64* time = began_of(task->pid);

    if (time) *time = own && task->tgid == own ? LATENCY_LEFT_OUT : 0;
    return 0;
}

/* The idle tasks of all CPUs have the number 0. NULL: the number is above all that there were. */
static __always_inline __u64* began_of_current(struct latency_seen* cpu) {
    const __u32 task = bpf_get_current_pid_tgid();

    return task ? began_of(task) : &cpu->idle_began;
}

/* The number of the highest bit. */
static __always_inline __u32 highest_bit(__u64 value) {
    __u32 bit = 0;

    if (value >> 32) {
        bit += 32;
        value >>= 32;
    }
    if (value >> 16) {
        bit += 16;
        value >>= 16;
    }
    if (value >> 8) {
        bit += 8;
        value >>= 8;
    }
    if (value >> 4) {
        bit += 4;
        value >>= 4;
    }
    if (value >> 2) {
        bit += 2;
        value >>= 2;
    }
    return bit + (value >> 1);
}

static __always_inline void add(struct latency_times* times, __u64 time) {
    times->sum += time;
    if (times->inverted_least < ~time) times->inverted_least = ~time;
    if (times->most < time) times->most = time;
    ++times->slots[highest_bit(time) & (LATENCY_SLOTS - 1)];
}

static __always_inline void add_by_comm(struct latency_seen* cpu, __u64 time) {
    /* Up to 6.1 the helper leaves what is behind the NUL as it was. */
    struct latency_comm comm = {};
    struct latency_times* times;

    bpf_get_current_comm(comm.name, sizeof(comm.name));
    times = bpf_map_lookup_elem(&comms, &comm);
    if (!times) {
        bpf_map_update_elem(&comms, &comm, &nothing, BPF_NOEXIST);
        times = bpf_map_lookup_elem(&comms, &comm);
    }
    if (times)
        add(times, time);
    else
        ++cpu->unnamed;
}

SEC("kprobe")
int begin(void* ctx) {
    const __u32 key = 0;
    struct latency_seen* cpu = bpf_map_lookup_elem(&seen, &key);
    __u64* time;

    if (!cpu || !on) return 0;
    time = began_of_current(cpu);
    if (!time) {
        ++cpu->missed_begins;
        return 0;
    }
    if (*time == LATENCY_LEFT_OUT) return 0;
    if (*time) ++cpu->again;
    ++cpu->begins;
    /* The last thing, so that the time is not that of the program. */
    *time = bpf_ktime_get_ns();
    return 0;
}

SEC("kprobe")
int end(void* ctx) {
    const __u64 now = bpf_ktime_get_ns();
    const __u32 key = 0;
    struct latency_seen* cpu = bpf_map_lookup_elem(&seen, &key);
    __u64 *time, took;

    if (!cpu || !on) return 0;
    time = began_of_current(cpu);
    if (!time) {
        ++cpu->missed_ends;
        return 0;
    }
    if (*time == LATENCY_LEFT_OUT) return 0;
    if (!*time) {
        ++cpu->unbegun;
        return 0;
    }
    /* The clock may go back a little while the kernel corrects it. */
    took = now > *time ? now - *time : 0;
    *time = 0;
    add(&cpu->all, took);
    if (by_comm) add_by_comm(cpu, took);
    return 0;
}
