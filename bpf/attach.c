// SPDX-License-Identifier: GPL-2.0
/*
 * djprobe without probeload: an application that loads a program with libbpf and attaches it.
 *
 *     cc attach.c -lbpf -o attach
 *     ./attach count.bpf.o vfs_read 'head -n 1 /etc/passwd'
 *
 * djprobe.h tells the rest: offsets, returns, many sites at once, errors with their reasons.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <djprobe.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The sum over all CPUs of the only value of a per-CPU array. */
static uint64_t read_count(const struct bpf_map* map) {
    const int cpus = libbpf_num_possible_cpus();
    uint64_t* const values = cpus > 0 ? calloc(cpus, sizeof(*values)) : NULL;
    const uint32_t key = 0;
    uint64_t sum = 0;

    if (!values || bpf_map_lookup_elem(bpf_map__fd(map), &key, values)) err(1, "reading the map");
    for (int cpu = 0; cpu < cpus; ++cpu)
        sum += values[cpu];
    free(values);
    return sum;
}

int main(int argc, char** argv) {
    if (argc != 4) errx(2, "usage: attach OBJECT FUNCTION COMMAND");
    struct bpf_object* const object = bpf_object__open_file(argv[1], NULL);
    if (!object || bpf_object__load(object)) err(1, "%s", argv[1]);
    const struct bpf_program* const program = bpf_object__next_program(object, NULL);
    const struct bpf_map* const count = bpf_object__find_map_by_name(object, "count");
    if (!program || !count) errx(1, "%s: no program, or no map 'count'", argv[1]);

    const int device = open(DJPROBE_DEVICE, O_RDWR | O_CLOEXEC);
    struct djprobe_info info = {.size = sizeof(info)};
    if (device < 0 || ioctl(device, DJPROBE_IOC_INFO, &info)) err(1, DJPROBE_DEVICE);
    if (info.abi_version != DJPROBE_ABI_VERSION) errx(1, "module of another ABI");

    struct djprobe_attach attach = {
        .size = sizeof(attach),
        .symbol = (uintptr_t)argv[2],
        .prog_fd = bpf_program__fd(program),
    };
    const int probe = ioctl(device, DJPROBE_IOC_ATTACH, &attach);
    if (probe < 0) err(1, "%s: refused, reason %u", argv[2], attach.reason);

    /* It works from here on, by an int3; this only waits for what becomes of that. */
    struct djprobe_query query = {.size = sizeof(query)};
    while (ioctl(probe, DJPROBE_IOC_WAIT) && errno == EINTR)
        ;
    if (ioctl(probe, DJPROBE_IOC_QUERY, &query)) err(1, "DJPROBE_IOC_QUERY");
    printf("%s+%#llx: %s\n", query.symbol, (unsigned long long)query.offset,
           query.mechanism == DJPROBE_MECHANISM_JUMP ? "jump" : "int3");

    const int status = system(argv[3]);
    printf("hits: %llu\n", (unsigned long long)read_count(count));
    close(probe); /* which detaches it; the end of the process would, too */
    bpf_object__close(object);
    return status != 0;
}
