// SPDX-License-Identifier: GPL-2.0
/* A record of many types with known values, as clang describes them. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

enum color { RED, GREEN = 5, INVISIBLE = -1 };

typedef struct {
    __u16 x;
    __s16 y;
} point_t;

/* The map is named `record`, without a plural s; the type is a typedef: record_t. */
typedef struct {
    __u64 largest;
    __s64 smallest;
    bool yes;
    char letter;
    __u8 bytes[3];
    enum color color;
    enum color unknown;
    enum color negative;
    point_t point;
    point_t path[2];
    union {
        __u32 word;
        __u8 part[4];
    };
    __u32 low : 3;
    __s32 high : 5;
    const void* pointer;
    char text[12];
    char words[2][4];
} record_t;

const record_t* unused_record __attribute__((unused));

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} record SEC(".maps");

__u32 lost;

SEC("kprobe/vfs_read")
int types(void* ctx) {
    record_t* r = bpf_ringbuf_reserve(&record, sizeof(*r), 0);

    if (!r) {
        __sync_fetch_and_add(&lost, 1);
        return 0;
    }
    __builtin_memset(r, 0, sizeof(*r));
    r->largest = -1;
    r->smallest = 1ULL << 63;
    r->yes = true;
    r->letter = 'A';
    r->bytes[0] = 1;
    r->bytes[2] = 255;
    r->color = GREEN;
    r->unknown = 7;
    r->negative = INVISIBLE;
    r->point.x = 65535;
    r->point.y = -2;
    r->path[1].y = 3;
    r->word = 0x01020304;
    r->low = 5;
    r->high = -3;
    r->pointer = (void*)0xffffffff81000000;
    __builtin_memcpy(r->text, "a\"b\\\n\xff", 6);
    __builtin_memcpy(r->words[0], "ls", 2);
    __builtin_memcpy(r->words[1], "-la!", 4);
    bpf_ringbuf_submit(r, 0);
    return 0;
}
