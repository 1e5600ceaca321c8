/* SPDX-License-Identifier: GPL-2.0 */
/* The next N events of a program as JSON. As root: follow vfs_read.bpf.o vfs_read 10 */
#include <probeload.h>
#include <stdio.h>
#include <stdlib.h>

struct reading {
    struct probeload_object* object;
    int left;
};

static int fail(int result) {
    fprintf(stderr, "follow: %s\n", probeload_message());
    return -result;
}

static int show(void* context, const struct probeload_event* event) {
    struct reading* reading = context;
    const char* line = probeload_json(reading->object, event);

    puts(line ? line : probeload_message());
    return --reading->left == 0; /* ends the reading */
}

int main(int argc, char** argv) {
    struct reading reading = {0};
    struct probeload_probe* probe;
    int result;

    if (argc != 4 || (reading.left = atoi(argv[3])) < 1)
        return fputs("usage: follow OBJECT FUNCTION N\n", stderr), 2;
    if ((result = probeload_open(argv[1], &reading.object)) < 0 ||
        (result = probeload_load(reading.object)) < 0 ||
        (result = probeload_attach(reading.object, NULL, argv[2], 0, 0, &probe)) < 0)
        return fail(result);
    while (reading.left > 0 && (result = probeload_poll(reading.object, -1, show, &reading)) >= 0)
        ;
    probeload_detach(probe);
    probeload_close(reading.object);
    return result < 0 ? fail(result) : 0;
}
