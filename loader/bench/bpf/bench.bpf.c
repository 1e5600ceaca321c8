// SPDX-License-Identifier: GPL-2.0
/* The same five bodies behind every kind of attachment that `probeload bench` compares. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bench.h"

char LICENSE[] SEC("license") = "GPL";

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} count SEC(".maps");

struct slots {
    __u64 counts[BENCH_SLOTS];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct slots);
} slots SEC(".maps");

struct record {
    __u64 words[4];
};

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1024 * 1024);
} events SEC(".maps");

/* Where the context of a kind has its word: rdi in struct pt_regs, the first argument elsewhere. */
#define RDI 14
#define FIRST 0

static __always_inline int do_empty(__u64 word) {
    return 0;
}

static __always_inline int do_counter(__u64 word) {
    __u32 key = 0;
    __u64* value = bpf_map_lookup_elem(&count, &key);

    if (value) ++*value;
    return 0;
}

static __always_inline int do_ringbuf(__u64 word) {
    struct record* record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);

    /* The reader counts: a record that does not fit shows. */
    if (!record) return 0;
    for (int i = 0; i < 4; i++)
        record->words[i] = i;
    bpf_ringbuf_submit(record, 0);
    return 0;
}

/* 0 for 0, n for what is from 2^(n-1) to 2^n - 1. */
static __always_inline __u32 slot_of(__u64 word) {
    __u32 slot = 0;

    if (!word) return 0;
    for (int half = 32; half; half /= 2) {
        if (word >> half == 0) continue;
        word >>= half;
        slot += half;
    }
    return slot + 1;
}

static __always_inline int do_histogram(__u64 word) {
    __u32 key = 0;
    struct slots* value = bpf_map_lookup_elem(&slots, &key);
    __u32 slot = slot_of(word);

    if (value && slot < BENCH_SLOTS) ++value->counts[slot];
    return 0;
}

static __always_inline int do_filter(__u64 word) {
    return word == BENCH_NEVER ? 0 : do_counter(word);
}

/* The verifier lets no pointer be shifted. What is negated is a number to it. */
static __always_inline __u64 negated(__u64 word) {
    asm volatile("%0 = -%0" : "+r"(word));
    return word;
}

#define PROGRAM(kind, section, body, word) \
    SEC(section)                           \
    int kind##_##body(__u64* ctx) {        \
        return do_##body(word);            \
    }

#define PROGRAMS(kind, section, word, number) \
    PROGRAM(kind, section, empty, word)       \
    PROGRAM(kind, section, counter, word)     \
    PROGRAM(kind, section, filter, word)      \
    PROGRAM(kind, section, histogram, number) \
    PROGRAM(kind, section, ringbuf, word)

PROGRAMS(kprobe, "kprobe", ctx[RDI], ctx[RDI])
PROGRAMS(multi, "kprobe.multi", ctx[RDI], ctx[RDI])
PROGRAMS(fentry, "fentry", ctx[FIRST], negated(ctx[FIRST]))
PROGRAMS(fexit, "fexit", ctx[FIRST], negated(ctx[FIRST]))
PROGRAMS(raw_tp, "raw_tp", ctx[FIRST], ctx[FIRST])
