// SPDX-License-Identifier: GPL-2.0
/* The same three bodies behind every kind of attachment that `probeload bench` compares. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} count SEC(".maps");

struct record {
    __u64 words[4];
};

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1024 * 1024);
} events SEC(".maps");

static __always_inline int do_empty(void) {
    return 0;
}

static __always_inline int do_counter(void) {
    __u32 key = 0;
    __u64* value = bpf_map_lookup_elem(&count, &key);

    if (value) ++*value;
    return 0;
}

static __always_inline int do_ringbuf(void) {
    struct record* record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);

    /* The reader counts: a record that does not fit shows. */
    if (!record) return 0;
    for (int i = 0; i < 4; i++)
        record->words[i] = i;
    bpf_ringbuf_submit(record, 0);
    return 0;
}

#define PROGRAMS(kind, section)     \
    SEC(section)                    \
    int kind##_empty(void* ctx) {   \
        return do_empty();          \
    }                               \
    SEC(section)                    \
    int kind##_counter(void* ctx) { \
        return do_counter();        \
    }                               \
    SEC(section)                    \
    int kind##_ringbuf(void* ctx) { \
        return do_ringbuf();        \
    }

PROGRAMS(kprobe, "kprobe")
PROGRAMS(multi, "kprobe.multi")
PROGRAMS(fentry, "fentry")
PROGRAMS(fexit, "fexit")
PROGRAMS(raw_tp, "raw_tp")
