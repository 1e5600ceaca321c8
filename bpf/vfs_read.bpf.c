// SPDX-License-Identifier: GPL-2.0
/*
 * Who reads which file? One event per call of vfs_read().
 *
 *     probeload attach vfs_read.bpf.o
 *
 * A handler is an ordinary kprobe program: nothing in it knows of djprobe.
 */

/* All types of the kernel, made from its BTF: no kernel headers are needed. */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* The helpers that read kernel memory are for GPL programs only. */
char LICENSE[] SEC("license") = "GPL";

/* One record of the map `events` below: probeload decodes it by these names and types. */
struct event {
    __u64 ts_ns; /* since boot, CLOCK_MONOTONIC */
    __u32 cpu;
    __u32 pid; /* the process, as userspace counts */
    __u32 tid; /* the thread */
    char comm[16];
    __u64 count;   /* bytes asked for */
    char name[48]; /* last component of the path, cut if longer */
};

/*
 * clang keeps only types that something refers to, and the pointers in the handler do not count.
 * This one, never used, is the anchor that brings `struct event` into the object's BTF.
 */
const struct event* unused_event __attribute__((unused));

/* probeload looks for a type named like the map: `events` holds `struct event`. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 256 * 1024);
} events SEC(".maps");

/* A ring buffer does not count what did not fit: the program must. probeload reports this one. */
__u64 lost;

/*
 * The function's name behind "kprobe/" is where probeload attaches without --func. BPF_KPROBE
 * takes the function's arguments out of the registers; that is only right at a function's entry.
 */
SEC("kprobe/vfs_read")
int BPF_KPROBE(on_vfs_read, struct file* file, char* buf, size_t count) {
    struct event* event;
    __u64 id = bpf_get_current_pid_tgid();

    /* Room in the ring buffer itself: the event is built in place, never copied. */
    event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
    if (!event) {
        /* Several CPUs may fail at once. */
        __sync_fetch_and_add(&lost, 1);
        return 0;
    }
    event->ts_ns = bpf_ktime_get_ns();
    event->cpu = bpf_get_smp_processor_id();
    event->pid = id >> 32;
    event->tid = (__u32)id;
    bpf_get_current_comm(event->comm, sizeof(event->comm));
    event->count = count;

    /*
     * file->f_path.dentry->d_name.name, read step by step, since any of the pointers may be
     * bad. CO-RE: where the fields lie is found out on the kernel that loads the program.
     */
    event->name[0] = '\0';
    bpf_probe_read_kernel_str(event->name, sizeof(event->name),
                              BPF_CORE_READ(file, f_path.dentry, d_name.name));

    bpf_ringbuf_submit(event, 0);
    return 0;
}
